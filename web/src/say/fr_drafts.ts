// What the pages of drafts, and the search of pages, say in French.

import type { en } from './en'
import { counted, plural } from './format'

const s = plural('fr')
const c = counted('fr')

export const search: (typeof en)['search'] = {
  title: 'Recherche',
  stats: (pages, size) =>
    `${c(pages, 'page explorée se trouve', 'pages explorées se trouvent')} ici ; l’index occupe ${size}.`,
  words: 'Mots, « une phrase », -sans, début*, intitle:, site:, lang:, type:',
  empty:
    'Tapez des mots : les pages apparaissent à mesure. Elles viennent des explorations, ou de la file crawler_queue.',
  found: (n, c, more) => `${more ? 'plus de ' : ''}${c} ${s(n, 'page')}`,
  relaxed: 'peu de pages ont tous les mots ; celles qui en ont la plupart sont montrées aussi',
  didYouMean: 'vouliez-vous dire',
  duplicates: (n) => `${n} ${s(n, 'autre')} au même texte`,
  sites: 'Sites',
  languages: 'Langues',
  types: 'Types',
  months: 'Lues en',
  places: (_, c) => `les mots s’y trouvent ${c} fois`,
  nextPlace: 'occurrence suivante des mots',
  previousPlace: 'occurrence précédente des mots',
  text: 'Texte stocké',
  cut: 'coupé : la page était plus longue',
}

export const draft: (typeof en)['draft'] = {
  title: 'Fiches',
  intro: 'Les pages de produits lues : chaque valeur avec sa source et sa confiance.',
  never: 'Pas encore de fiche. Demandez-en une : conveyor draft https://…',
  name: 'Produit',
  price: 'Prix',
  availability: 'Disponibilité',
  brand: 'Marque',
  outcome: 'Résultat',
  outcomes: { succeeded: 'réussie', failed: 'échouée' },
  crawled: 'Lue',
  host: 'Hôte',
  fields: 'Champs',
  confidence: 'Confiance',
  source: 'Source',
  files: 'Fichiers',
  screenshot: 'Capture d’écran',
  page: 'La page',
  again: 'Demander de nouveau',
  asked: 'Demandée.',
  unstable: 'La page changeait encore pendant sa lecture.',
  requests: 'Demandes de fiches',
  requestsIntro: 'Les pages demandées, et ce qu’il en est advenu.',
  url: 'URL',
  state: 'État',
  states: {
    pending: 'en attente',
    queued: 'en file',
    running: 'en cours',
    succeeded: 'réussie',
    failed: 'échouée',
    dead: 'morte',
    canceled: 'annulée',
  },
  requested: 'Demandée',
  request: 'Demander une fiche',
  noRequests: 'Pas encore de demande.',
  error: 'Erreur',
  since: 'Depuis (UTC)',
  picture: 'Image',
  where: 'Où elle se trouve dans draft.json',
  pick: 'Choisissez un champ pour voir où il se trouve dans draft.json.',
  made: 'Voir la demande',
  locale: 'Langue du navigateur',
  outDir: 'Dossier',
  secrets: 'En-têtes et témoins',
  secretsNote:
    'Envoyés au seul site de l’URL, conservés chiffrés jusqu’à ce que la fiche soit stockée, et jamais montrés.',
  headerName: 'En-tête',
  cookieName: 'Témoin',
  secret: 'Valeur',
  addHeader: 'Ajouter un en-tête',
  addCookie: 'Ajouter un témoin',
  remove: 'Retirer',
  replay: 'Rejouer',
}
