{{- define "conveyor.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}

{{- define "conveyor.labels" -}}
app.kubernetes.io/name: conveyor
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ include "conveyor.tag" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "conveyor.tag" -}}{{ .Values.image.tag | default .Chart.AppVersion }}{{- end }}

{{- define "conveyor.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "conveyor.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* Not empty for the task queues of a worker that has Chromium. */}}
{{- define "conveyor.chromium" -}}
{{- if or (has "browser" .) (has "drafts" .) }}true{{ end }}
{{- end }}

{{/* Not empty where a role has Chromium. */}}
{{- define "conveyor.chromiums" -}}
{{- range .Values.roles }}{{ if .replicas }}{{ include "conveyor.chromium" (get . "queues" | default list) }}{{ end }}{{ end }}
{{- end }}

{{/* The task queues, by commas, of roles that are turned off and of no other. */}}
{{- define "conveyor.unused" -}}
{{- $off := list }}{{ $on := list }}
{{- range .Values.roles }}
{{- $queues := get . "queues" | default list }}
{{- if .replicas }}{{ $on = concat $on $queues }}{{ else }}{{ $off = concat $off $queues }}{{ end }}
{{- end }}
{{- $unused := list }}
{{- range uniq $off }}{{ if not (has . $on) }}{{ $unused = append $unused . }}{{ end }}{{ end }}
{{- join "," $unused }}
{{- end }}

{{/* The seconds of a duration in whole minutes and seconds, which is all that the schema allows. */}}
{{- define "conveyor.seconds" -}}
{{- $minutes := regexFind "[0-9]+m" . | trimSuffix "m" | default "0" | int }}
{{- add (mul $minutes 60) (regexFind "[0-9]+s" . | trimSuffix "s" | default "0" | int) }}
{{- end }}

{{/* The keys of the Secret that a role or a job gets: {role, queues}. */}}
{{- define "conveyor.secrets" -}}
{{- $of := dict
  "migrate" (list "DATABASE_MIGRATE_URL")
  "api" (list "RABBITMQ_URL" "RABBITMQ_MANAGEMENT_URL" "CONVEYOR_SECRET_KEYS" "CONVEYOR_API_KEYS" "CONVEYOR_OIDC_CLIENT_SECRET"
    "CONVEYOR_WHATSAPP_APP_SECRETS" "CONVEYOR_WHATSAPP_VERIFY_TOKENS" "CONVEYOR_SMTP_URL" "CONVEYOR_TELEGRAM_TOKEN" "CONVEYOR_SEARCH_URL")
  "bridge" (list "RABBITMQ_URL" "CONVEYOR_SECRET_KEYS") }}
{{- $for := dict
  "enrich" (list "CONVEYOR_ENRICH_KEY")
  "search" (list "CONVEYOR_SEARCH_URL")
  "campaigns" (list "CONVEYOR_SECRET_KEYS")
  "message_dispatch" (list "CONVEYOR_SECRET_KEYS")
  "message_retry" (list "CONVEYOR_SECRET_KEYS")
  "notify" (list "CONVEYOR_SECRET_KEYS" "CONVEYOR_SMTP_URL" "CONVEYOR_TELEGRAM_TOKEN")
  "browser" (list "CONVEYOR_SECRET_KEYS" "CONVEYOR_CHROMIUM_PASSWORD")
  "drafts" (list "CONVEYOR_SECRET_KEYS" "CONVEYOR_CHROMIUM_PASSWORD") }}
{{- $keys := concat (list "DATABASE_URL" "DATABASE_LISTEN_URL" "REDIS_URL" "TEMPORAL_API_KEY") (get $of .role | default list) }}
{{- range .queues }}{{ $keys = concat $keys (get $for . | default list) }}{{ end }}
{{- uniq $keys | toJson }}
{{- end }}

{{/* Refuses names that are misspelt: {root, settings}. Those of others (AWS_…, OTEL_…) may be any. */}}
{{- define "conveyor.known" -}}
{{- $known := .root.Files.Lines "files/settings.txt" }}
{{- range $name, $_ := .settings }}
{{- if and (regexMatch "^(CONVEYOR|DATABASE|RABBITMQ|REDIS|CHROME|CRAWL|CRAWLER|FETCH|RETRY|WORKER)_" $name) (not (has $name $known)) }}
{{- fail (printf "settings has %s, which is no setting: conveyor config prints all" $name) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What every container has: {root, role, queues, settings}. */}}
{{- define "conveyor.container" -}}
{{- $root := .root }}
{{- $all := dict "CONVEYOR_LOG_FORMAT" "json" "CONVEYOR_HOME" "/tmp/conveyor" }}
{{- with $root.Values.deployment.name }}
{{- $_ := set $all "CONVEYOR_DEPLOYMENT" . }}
{{- $_ := set $all "CONVEYOR_BUILD_ID" (include "conveyor.tag" $root) }}
{{- end }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
{{- with $root.Values.extraSecrets }}
envFrom:
  {{- range . }}
  - secretRef: {name: {{ . }}}
  {{- end }}
{{- end }}
env:
  {{- $parts := .queues | default list }}
  {{- if has .role (list "api" "bridge") }}{{ $parts = list .role }}{{ end }}
  {{- $own := not (empty $parts) }}
  {{- $pages := true }}
  {{- $granted := get $root.Values.settings "CONVEYOR_DATABASE_ROLES" }}
  {{- range $parts }}
  {{- if not (regexMatch (printf "(^|,)%s=" .) $granted) }}{{ $own = false }}{{ end }}
  {{- if not (has . (list "browser" "drafts")) }}{{ $pages = false }}{{ end }}
  {{- end }}
  {{- $name := ternary "PAGES" (.role | upper | replace "-" "_") $pages }}
  {{- range include "conveyor.secrets" . | fromJsonArray }}
  {{- $key := ternary (regexReplaceAll "^DATABASE_(LISTEN_)?URL$" . (printf "DATABASE_%s_${1}URL" $name)) . $own }}
  - name: {{ . }}
    valueFrom: {secretKeyRef: {name: {{ $root.Values.secretName }}, key: {{ $key }}, optional: {{ ne . "DATABASE_URL" }}}}
  {{- end }}
  {{- $all = mergeOverwrite $all $root.Values.settings .settings }}
  {{- include "conveyor.known" (dict "root" $root "settings" $all) }}
  {{- if not (has "message_dispatch" .queues) }}
  {{- $_ := unset $all "CONVEYOR_KEY_OPT_OUTS" }}{{/* refused without CONVEYOR_SECRET_KEYS, which not every role has */}}
  {{- end }}
  {{- range $name, $value := $all }}
  - {name: {{ $name }}, value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}}{{/* no 2e+06 */}}
  {{- end }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- range $root.Values.files }}
  - {name: file-{{ .name }}, mountPath: /etc/conveyor/{{ .name }}, readOnly: true}
  {{- end }}
{{- end }}

{{/* What every pod has: {root, account, profile}. */}}
{{- define "conveyor.pod" -}}
{{- $root := .root }}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {{ ternary .profile (pick .profile "type") (eq .profile.type "Localhost") | toJson }}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
volumes:
  - {name: tmp, emptyDir: {}}
  {{- range $root.Values.files }}
  - name: file-{{ .name }}
    {{- if hasKey . "secret" }}
    secret: {secretName: {{ .secret }}}
    {{- else }}
    configMap: {name: {{ .configMap }}}
    {{- end }}
  {{- end }}
{{- end }}
