package faults

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/workflows"
)

// stillness is how long nothing may change while work is left, and patience how long that work may take.
func stillness() (still, patience time.Duration) {
	if *long {
		return 5 * time.Minute, 20 * time.Minute
	}
	return servicetest.Patience(), 5 * servicetest.Patience()
}

// settle waits until nothing is left to do and every role is healthy, and then asks the roles to end. It returns the
// work that was left when it gave up; "" when nothing was. It goes on waiting as long as the work that is left changes,
// or world.pulse does.
func (w *world) settle() (unrest string) {
	w.say("no more faults; waiting until nothing is left to do")
	atRest := func() bool {
		still, patience := stillness()
		moved, last := time.Now(), ""
		err := eventually(w.ctx, patience, func() bool {
			unrest = w.restless()
			if now := unrest + w.pulse(); now != last {
				moved, last = time.Now(), now
			}
			return unrest == "" || time.Since(moved) > still
		})
		return err == nil && unrest == ""
	}
	// A message with a wrong date counts from its arrival, and one that comes again arrives again.
	if atRest() && (w.flow.correct() == 0 || atRest()) {
		w.say("nothing is left to do")
	} else {
		w.say("given up: %s", unrest)
	}
	w.dismiss()
	return unrest
}

const sqlRestless = `
SELECT (SELECT count(*) FROM raw_listings WHERE settled_revision < revision),
    (SELECT count(*) FROM outbox WHERE published_at IS NULL AND message_id <> ALL ($1)),
    (SELECT count(*) FROM listing_images WHERE state = 'pending'), (SELECT count(*) FROM saved_queue)`

// restless lists the work that is still to be done.
func (w *world) restless() string {
	var left []string
	add := func(n int64, what string) {
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(int64(w.flow.unconfirmed()), "messages to be confirmed")
	add(int64(w.people.busy()), "homes to be decided on")
	var raws, events, images, changes int64
	if err := w.db.QueryRow(w.ctx, sqlRestless, w.poison()).Scan(&raws, &events, &images, &changes); err != nil {
		return err.Error()
	}
	add(raws, "adverts under way")
	add(events, "events in the outbox")
	add(images, "images pending")
	add(changes, "changes of listings to be compared with saved searches")
	running, err := w.workflowsThat(`ExecutionStatus = "Running"` + others + w.without)
	if err != nil {
		return err.Error()
	}
	add(running, "workflows running")
	depths, err := w.depths()
	if err != nil {
		return err.Error()
	}
	for queue, n := range depths {
		add(int64(n), "messages in "+queue)
	}
	if len(left) == 0 {
		return w.ailing()
	}
	return strings.Join(left, ", ")
}

// others are the workflows that end, and come to an end: a scraper never does, and continues as new; that of the schedule
// "campaigns" begins every minute, also when the workers are gone.
const others = ` AND WorkflowType != "ScrapePlatform" AND WorkflowType != "ScheduleCampaigns"`

// depths are the queues that hold messages which wait, without those that others read.
func (w *world) depths() (map[string]int, error) {
	ch, hangUp, err := dial(w.vars["RABBITMQ_URL"])
	if err != nil {
		return nil, err
	}
	defer hangUp()
	out := map[string]int{}
	names, err := servicetest.Queues("../../domain/contract/queues.go")
	if err != nil {
		return nil, err
	}
	for _, name := range append(names, contract.QueueScraped("kijiji"), contract.QueueScraped("kangalou")) {
		if name == contract.QueueEnriched { // of another team
			continue
		}
		for _, queue := range []string{name, name + ".dlq"} {
			q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
			if err != nil {
				return nil, err
			}
			if queue != "listings.published" && q.Messages > 0 {
				out[queue] = q.Messages
			}
		}
	}
	return out, nil
}

func (w *world) workflowsThat(query string) (int64, error) {
	ctx, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	n, err := w.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: devstack.Namespace, Query: query,
	})
	return n.GetCount(), err
}

// endedOtherwise are the workflows that neither completed nor failed as rejected, and how they ended.
func (w *world) endedOtherwise() (list []string, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	query := `ExecutionStatus != "Running" AND ExecutionStatus != "Completed" AND ExecutionStatus != "ContinuedAsNew"` + others
	for page := []byte(nil); ; {
		r, err := w.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: devstack.Namespace, Query: query, NextPageToken: page,
		})
		if err != nil {
			return list, err
		}
		for _, e := range r.GetExecutions() {
			id, outcome := e.GetExecution().GetWorkflowId(), e.GetSearchAttributes().GetIndexedFields()["ConveyorOutcome"]
			expected := string(outcome.GetData()) == `"rejected"` || w.draftsFail && strings.HasPrefix(id, draft.WorkflowPrefix)
			if e.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_FAILED || !expected {
				list = append(list, fmt.Sprintf("%s %s", id, e.GetStatus()))
			}
		}
		if page = r.GetNextPageToken(); len(page) == 0 {
			return list, nil
		}
	}
}

// polls returns nil when a worker's process asks for the work of each of its queues.
func (w *world) polls(r *role) error {
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	me := fmt.Sprintf("%d@", r.pid())
	for queue, kind := range map[string]enums.TaskQueueType{
		workflows.QueueListings: enums.TASK_QUEUE_TYPE_WORKFLOW, workflows.QueueImages: enums.TASK_QUEUE_TYPE_ACTIVITY,
	} {
		d, err := w.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: devstack.Namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: kind,
		})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(d.GetPollers(), func(p *taskqueue.PollerInfo) bool {
			return strings.HasPrefix(p.GetIdentity(), me)
		}) {
			return fmt.Errorf("does not poll %s", queue)
		}
	}
	return nil
}

// rest settles, and says in the ledger how long all of it took and what was left.
func (w *world) rest(l *Ledger) {
	unrest := w.settle()
	l.Seconds = time.Since(w.began).Seconds()
	if unrest != "" {
		l.Wrong = append(l.Wrong, "it did not come to rest: "+unrest)
	}
}

// close prints the ledger, and fails the test by what is wrong in it.
func (l *Ledger) close(w *world) {
	fmt.Print(l.String())
	for _, wrong := range l.Wrong {
		w.t.Error(wrong)
	}
	if w.t.Failed() {
		w.keepLogs()
	}
}

// flowed compares the published messages with the books, after all has come to rest.
func (l *Ledger) flowed(w *world) {
	b, err := w.books()
	if err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.compare(w.flow.snapshot(), b)
}

func (l *Ledger) workflows(w *world) {
	count := func(query string) int {
		n, err := w.workflowsThat(query + others + w.without)
		if err != nil {
			l.Wrong = append(l.Wrong, err.Error())
		}
		return int(n)
	}
	l.row("workflows completed", count(`ExecutionStatus = "Completed"`), "%d failed as rejected",
		count(`ExecutionStatus = "Failed" AND ConveyorOutcome = "rejected"`))
	l.must("workflows stuck", count(`ExecutionStatus = "Running"`), 0)
	otherwise, err := w.endedOtherwise()
	if err != nil {
		l.Wrong = append(l.Wrong, err.Error())
	}
	l.none("workflows ended otherwise", otherwise)
	depths, err := w.depths() // unacked messages are back: no consumer is left
	if err != nil {
		l.Wrong = append(l.Wrong, err.Error())
	}
	var left []string
	for queue, n := range depths {
		left = append(left, fmt.Sprintf("%d in %s", n, queue))
	}
	l.none("queues that are not empty", left)
}

func (l *Ledger) processes(w *world) {
	var kills, panics, leases, downloads int
	var exits, fat []string
	largest := map[string]int{} // by kind of role, in MiB
	for _, r := range w.roles {
		p, lost, _ := r.log.counts()
		r.mu.Lock()
		kills, panics, leases = kills+r.kills, panics+p, leases+lost
		largest[r.command] = max(largest[r.command], r.memory)
		if r.memory > memoryLimits[r.command] {
			fat = append(fat, fmt.Sprintf("%s had %d MiB", r.name, r.memory))
		}
		for _, how := range r.exits {
			exits = append(exits, r.name+" "+how)
		}
		r.mu.Unlock()
	}
	for _, h := range w.hosts {
		downloads += h.total()
	}
	l.row("processes killed -9", kills, "and started again by their supervisor")
	l.none("processes that ended by themselves", exits)
	l.drains(w)
	l.must("panics", panics, 0)
	l.row("memory of the largest worker, in MiB", largest["worker"], "bridge %d, API %d", largest["bridge"], largest["api"])
	l.none("processes larger than docker-compose.yml allows", fat)
	l.row("leases lost", leases, "confirmed after another relay had taken them over")
	l.row("requests for images", downloads, "")
	var odd []string
	w.reader.mu.Lock()
	defer w.reader.mu.Unlock()
	for what, n := range w.reader.odd {
		odd = append(odd, fmt.Sprintf("%d × %s", n, what))
	}
	l.row("answers of the API", w.reader.answers["200"]+w.reader.answers["503"],
		"%d say 503; %d requests were cut; the slowest took %.1f s", w.reader.answers["503"], w.reader.answers["cut"],
		w.reader.slowest.Seconds())
	l.none("other answers of the API", odd)
}

func (l *Ledger) recoveries(w *world) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range faults {
		r := Recovery{Fault: f.name}
		for _, b := range w.blows {
			if b.fault != f.name {
				continue
			}
			r.Times++
			if b.missed != nil {
				r.Missed++
				continue
			}
			at := w.watch.when(b.probe.advert)
			switch took := at.Sub(b.healed).Seconds(); {
			case at.IsZero():
			case b.alone:
				r.Alone = append(r.Alone, took)
			default:
				r.Random = append(r.Random, took)
			}
		}
		if r.Times > 0 {
			slices.Sort(r.Alone)
			slices.Sort(r.Random)
			l.Faults = append(l.Faults, r)
		}
	}
}

const (
	sqlRaws = `SELECT platform_id, status, revision, settled_revision, scrapes, last_scraped_at FROM raw_listings`
	sqlLive = `
SELECT l.platform_id, l.id::text, l.revision, l.rent_cents, coalesce(e.revision, 0)
FROM listings l LEFT JOIN listing_enrichments e ON e.listing_id = l.id WHERE l.status = 'active'`

	// Those of tenants are of the ledgers of their imports and messages.
	sqlLetters = `
SELECT queue, message_id, workflow_id, convert_from(body, 'UTF8'), reason, state, deaths FROM dead_letters
WHERE tenant = ''`

	sqlPictures = `
SELECT l.platform_id, i.url, i.state, coalesce(i.key, ''), coalesce(encode(i.sha256, 'hex'), '')
FROM listing_images i JOIN listings l ON l.id = i.listing_id`

	sqlHistory = `
SELECT l.platform_id, e.kind, coalesce(e.old_rent_cents, 0), coalesce(e.new_rent_cents, 0), coalesce(e.new_status, '')
FROM listing_events e JOIN listings l ON l.id = e.listing_id ORDER BY e.id`

	sqlTold = `
SELECT message_id::text, routing_key, coalesce(body->'data'->>'listing_id', ''),
    coalesce((body->'data'->>'revision')::bigint, 0), coalesce(body->'data'->>'url', ''),
    coalesce(published_at, '0001-01-01Z'), coalesce(body->'data'->>'platform_id', ''),
    coalesce(body->'data'->>'change', '')
FROM (SELECT message_id, t.routing_key, convert_from(t.body, 'UTF8')::jsonb AS body, published_at
    FROM outbox JOIN told t USING (message_id) WHERE exchange = 'listings.events') o`
	sqlTwice = `
SELECT count(*) FROM raw_listing_revisions a JOIN raw_listing_revisions b
    ON b.listing_id = a.listing_id AND b.revision = a.revision + 1 AND b.content_hash = a.content_hash`
)

// books reads everything that there is.
func (w *world) books() (b books, err error) {
	raws, err1 := table[raw](w, sqlRaws)
	lives, err2 := table[live](w, sqlLive)
	b.raws, b.live = map[string]raw{}, map[string]live{}
	for _, r := range raws {
		b.raws[r.PlatformID] = r
	}
	for _, v := range lives {
		b.live[v.PlatformID] = v
	}
	lodgers, err7 := table[lodger](w, sqlLodgers)
	b.lodgers = map[string]lodger{}
	for _, m := range lodgers {
		b.lodgers[m.PlatformID] = m
	}
	var err3, err4, err5, err6, err8, err9 error
	b.letters, err3 = table[letter](w, sqlLetters)
	b.images, err4 = table[picturedAs](w, sqlPictures)
	b.history, err5 = table[change](w, sqlHistory)
	b.outbox, err6 = table[told](w, sqlTold)
	scraped, err10 := table[struct{ ID string }](w, "SELECT platform_id FROM platform_adverts")
	b.scraped = map[string]bool{}
	for _, a := range scraped {
		b.scraped[a.ID] = true
	}
	b.pairs, b.refused = w.people.decided()
	b.said, err8 = table[verdict](w, sqlVerdicts)
	b.reads, err9 = table[reading](w, sqlReadings)
	err = errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, w.db.QueryRow(w.ctx, sqlTwice).Scan(&b.twice))
	b.broken = w.damaged(b.images)
	// Events on their way to the watch arrive within moments.
	_ = eventually(w.ctx, servicetest.Patience(), func() bool { b.sights = w.watch.snapshot(); return len(b.sights) >= len(b.outbox) })
	b.queued, err1 = w.drain("listings.published")
	b.losses = w.losses
	return b, errors.Join(err, err1)
}

func table[T any](w *world, sql string) ([]T, error) {
	rows, _ := w.db.Query(w.ctx, sql) // CollectRows reports the error
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// damaged lists the files of attached images that do not have their hash, are cut off, or are missing.
func (w *world) damaged(images []picturedAs) (broken []string) {
	for _, p := range images {
		if p.State != "attached" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(w.disk.path, p.Key))
		sum := sha256.Sum256(data)
		if err != nil || hex.EncodeToString(sum[:]) != p.Hash {
			broken = append(broken, p.Key)
		}
		thumb := strings.TrimSuffix(strings.Replace(p.Key, "images/", "thumbs/", 1), filepath.Ext(p.Key)) + ".jpg"
		data, err = os.ReadFile(filepath.Join(w.disk.path, thumb))
		if err != nil || !strings.HasSuffix(string(data), "\xff\xd9") { // a JPEG's last word
			broken = append(broken, thumb)
		}
	}
	return broken
}

// drain takes all messages out of a queue and returns their IDs.
func (w *world) drain(queue string) (map[string]bool, error) {
	ch, hangUp, err := dial(w.vars["RABBITMQ_URL"])
	if err != nil {
		return nil, err
	}
	defer hangUp()
	out := map[string]bool{}
	for {
		d, ok, err := ch.Get(queue, true)
		if err != nil || !ok {
			return out, err
		}
		out[d.MessageId] = true
	}
}
