// What Today says in French.

import type { en } from './en'
import { counted, plural } from './format'

const s = plural('fr')
const c = counted('fr')
const some = (n: number, one: string, first: string, many = one + 's') =>
  n === 0 ? '' : n === 1 ? `${first} ${one}` : `${n} ${many}`

export const today: (typeof en)['today'] = {
  waits: 'Ce qui attend, et où',
  waitsNote: 'RabbitMQ, Temporal et Postgres en une liste',
  needs: 'À examiner',
  nothingNeeds: 'Rien n’exige d’intervention.',
  allWarnings: 'Tous les avertissements',
  platforms: 'Plateformes',
  platformsNote: 'ce cycle, un trait par page de recherche',
  refused: 'Refusées, et pourquoi',
  refusedNote: (n, window) => `${n} (${window})`,
  twinOf: 'doublon d’un logement',
  justIn: 'Vient d’arriver',
  hold: 'Retenir',
  held: 'Retenu',
  kinds: {
    new: 'nouvelle',
    changed: 'changée',
    back: 'de retour',
    archived: 'archivée',
    refused: 'refusée',
    twin: 'doublon',
  },
  windows: { '1h': 'dernière heure', '24h': '24 heures', '7d': '7 jours' },
  lines: {
    title: 'La chaîne',
    note: (window) => `ce qui est passé (${window}), et ce qui est tombé`,
    in: (n) => c(n, 'reçue'),
    door: 'porte',
    unchanged: (n) => c(n, 'inchangée'),
    settled: 'revues : sans workflow ni téléchargement',
    normalize: 'normaliser',
    dedupe: 'doublons',
    publish: 'importer',
    images: 'photos',
    published: 'publiées',
    refused: 'refusées',
    twins: 'doublons',
    failed: 'échouées',
    newChanged: (a, b) => `${c(a, 'nouvelle')}, ${c(b, 'changée')}`,
    afterPage: (d) => `${d} après la page`,
    others: 'Explorations, fiches et envois',
    rest: (n) => `${n} autres`,
    names: { listings: 'Annonces', crawl: 'Exploration', drafts: 'Fiches', outreach: 'Envois' },
    runs: (n, ids) => `${s(n, 'exploration')} ${ids}`,
    tenants: (n, c) => `${c} ${s(n, 'client')}`,
    stations: {
      seed: 'en cours',
      frontier: 'frontière',
      fetching: 'en lecture',
      read: 'lus',
      crawler_queue: 'crawler_queue',
      stored: 'conservées',
      searchable: 'trouvables',
      requested: 'demandées',
      waiting: 'en attente',
      chromium: 'dans Chromium',
      page_read: 'pages lues',
      draft_stored: 'fiches conservées',
      uploaded: 'lignes déposées',
      valid: 'valides',
      contacts: 'contacts',
      scheduled: 'campagnes',
      dispatched: 'envoyés',
      delivered: 'remis',
    },
    off: { broken: 'en erreur', failed: 'échecs', invalid: 'invalides' },
    alt: (all, unchanged, refused, twins, fresh, changed) =>
      `${c(all, 'reçue')} : ${c(unchanged, 'inchangée')}, ${c(refused, 'refusée')}, ${c(twins, 'doublon')}, ${c(fresh, 'nouvelle')}, ${c(changed, 'changée')}.`,
  },
  sentence: {
    adverts: (n, c) => `${c} ${s(n, 'annonce')}`,
    cameIn: 'reçues.',
    nothingIn: (window) => `Aucune annonce n’est arrivée (${window}).`,
    unchanged: (n, c) => `${c} ${s(n, 'n’a pas', 'n’ont pas')} changé.`,
    new: (n, c) => `${c} ${s(n, 'est nouvelle', 'sont nouvelles')}`,
    changed: (n, c) => `${c} ${s(n, 'a', 'ont')} changé`,
    twins: (n, c) => `${c} ${s(n, 'est un doublon', 'sont des doublons')}`,
    withheld: (n, c) => `${c} ${s(n, 'a été retenue', 'ont été retenues')}`,
    refused: (n, c) => `${c} ${s(n, 'a été refusée', 'ont été refusées')}`,
    and: 'et',
    published: 'Ce qui pouvait être publié l’a été, ',
    afterPage: ' après la lecture de la page.',
    underWay: (crawls, uploads) => {
      const each = [some(crawls, 'exploration', 'une'), some(uploads, 'dépôt de fichier', 'un', 'dépôts de fichiers')]
      const said = each.filter(Boolean).join(' et ')
      if (!said) return 'Ni exploration ni dépôt en cours.'
      return `${said.charAt(0).toUpperCase()}${said.slice(1)} ${s(crawls + uploads, 'est', 'sont')} en cours.`
    },
    oldest: (d) => `Rien n’attend depuis plus de ${d}.`,
    idle: 'Rien n’attend.',
  },
}
