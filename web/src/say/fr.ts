// Everything that the console says in French, of Quebec. The type makes a missing sentence an error of the compiler.

import type { en } from './en'
import { code } from './fr_codes'
import { run } from './fr_crawl'
import { draft, search } from './fr_drafts'
import { plural } from './format'
import { duplicate, listing, platform, refused, saved, view } from './fr_listings'
import { apiKey, audit, letter, licences, queue, replay } from './fr_operations'
import { outreach } from './fr_outreach'
import { today } from './fr_today'

const s = plural('fr')

export const fr: typeof en = {
  // Everywhere.
  any: 'tous',
  asTable: 'En tableau',
  all: 'tout',
  ago: (d) => `il y a ${d}`,
  in: (d) => `dans ${d}`,
  cancel: 'Annuler',
  clear: 'Effacer les filtres',
  close: 'Fermer',
  copied: 'copié',
  counting: 'Dénombrement…',
  copy: 'Copier',
  inTemporal: 'Chaque étape dans Temporal',
  live: 'en direct',
  look: 'Voir',
  noAnswer: 'L’API ne répond pas',
  more: 'Suite',
  chosen: (n, c) => `${c} ${s(n, 'choisie', 'choisies')}`,
  chosenAll: 'Tout ce qui correspond est choisi',
  chooseAll: 'Tout ce qui correspond',
  chooseNone: 'Aucune',
  newRows: (n, c) => `${c} ${s(n, 'nouvelle', 'nouvelles')}`,
  space: 'espace',
  allOf: (c) => `les ${c}`,
  moreFilters: 'Plus de filtres',
  fewerFilters: 'Moins de filtres',
  none: 'aucun',
  or: 'ou',
  pause: 'Suspendre',
  reading: 'Lecture…',
  readingMore: 'Lecture de la suite…',
  removeIt: 'l’enlever',
  reset: 'Rétablir',
  resume: 'Reprendre',
  retryAfter: (n) => `Réessayez dans ${n} s.`,
  rows: (n, c) => `${c} ${s(n, 'ligne')}`,
  rowsSoFar: (c) => `${c} lignes lues, d’autres suivent`,
  save: 'Enregistrer',
  stale: (at) => `périmé depuis ${at}`,
  start: 'Démarrer',
  stop: 'Arrêter',
  tryAgain: 'Réessayer',
  typeTheNumber: (n) => `Tapez ${n} pour confirmer :`,
  unknownFilter: (names) => `Cette liste ne se filtre pas par ${names}.`,
  nothingMatches: 'Rien ne correspond. Enlevez un filtre :',
  matching: (n, c) =>
    n === 0 ? 'Rien ne correspond.' : `${c} ${s(n, 'élément correspond', 'éléments correspondent')}.`,
  doneOf: (done, n) => `${done} sur ${n}`,
  needsRole: (role) => `exige le rôle ${role}`,
  needsService: (names: string) => `rien ne peut démarrer tant que ${names} ne répond pas`,
  servicesAway: (n: number, names: string) => `${names} ne ${s(n, 'répond', 'répondent')} pas.`,
  nothingStarts: 'Ce qui est enregistré reste lisible; rien ne peut démarrer pour l’instant.',
  polling: 'toutes les 5 s',
  skipToContent: 'Aller au contenu',
  notFound: 'Cette page n’existe pas.',
  crashed: 'Cette partie de la page a échoué. Le reste continue.',
  newVersion: 'Une nouvelle version est là : recharger',
  authenticationOff: 'sans authentification',

  login: {
    title: 'Connexion',
    intro: 'Cette API exige une clé. Elle est envoyée une fois, et la page ne la garde pas.',
    key: 'Clé d’API',
    enter: 'Se connecter',
    out: 'Se déconnecter',
    notOut: 'Vous êtes peut-être encore connecté',
    oidc: 'Se connecter avec votre organisation',
    orKey: 'Ou avec une clé d’API. Elle est envoyée une fois, et la page ne la garde pas.',
    request: 'Identifiant de la requête, pour le journal :',
    failed: {
      stale: 'La connexion a pris trop de temps, ou une autre a été commencée depuis. Connectez-vous de nouveau.',
      denied:
        'Le fournisseur d’identité ne vous a pas laissé entrer. Réessayez, ou demandez l’accès à son administrateur.',
      invalid:
        'La réponse du fournisseur d’identité n’est pas fiable. Connectez-vous de nouveau; si cela se répète, avisez un opérateur.',
      setup:
        'Le fournisseur d’identité n’accepte pas cette API. Un opérateur doit vérifier l’identifiant du client, son secret et l’adresse de retour.',
      away: 'Le fournisseur d’identité ne répond pas. Réessayez dans une minute, ou connectez-vous avec une clé d’API.',
      role: 'Vous n’avez aucun rôle ici. Demandez-en un à un opérateur, puis connectez-vous de nouveau.',
      tenant: 'Votre organisation a été retirée d’ici. Si cela vous surprend, demandez à un opérateur.',
      wait: 'Trop de connexions ont échoué depuis votre adresse. Attendez une minute, puis réessayez.',
    },
  },

  licences,

  code,

  find: {
    pages: 'Pages',
    lists: 'Chercher dans',
    hint: 'Un identifiant, un numéro, une URL, un identifiant de workflow, une adresse ou des mots.',
    failed: 'L’API n’a pas pu chercher.',
    nothing: 'Rien trouvé par identifiant, numéro, URL, identifiant de workflow, adresse, titre ou nom.',
    partial: (kinds: string) => `Tout n’a pas pu être cherché à temps : ${kinds}.`,
    found: (n: number) => `${n} ${s(n, 'trouvé')}`,
    kind: {
      listing: 'Annonces',
      draft: 'Fiches',
      request: 'Demandes de fiches',
      crawl: 'Explorations',
      page: 'Pages enregistrées',
      replay: 'Reprises',
      dead_letter: 'Lettres mortes',
      platform: 'Plateformes',
      campaign: 'Campagnes',
      upload: 'Fichiers',
      message: 'Messages',
    },
  },

  nav: {
    label: 'Console',
    today: 'Aujourd’hui',
    listings: 'Annonces',
    refused: 'Refusées',
    duplicates: 'Doublons',
    platforms: 'Plateformes',
    replays: 'Reprises',
    savedSearches: 'Recherches enregistrées',
    crawl: 'Exploration',
    runs: 'Explorations',
    search: 'Recherche',
    pages: 'Pages',
    drafts: 'Fiches',
    requests: 'Demandes',
    outreach: 'Envois',
    uploads: 'Fichiers',
    campaigns: 'Campagnes',
    messages: 'Messages',
    contacts: 'Contacts',
    tenants: 'Clients',
    operations: 'Exploitation',
    queues: 'Files',
    deadLetters: 'Lettres mortes',
    activity: 'Activité',
    keys: 'Clés',
    find: 'Trouver une page, un identifiant, une URL, des mots',
    theme: 'Clair ou sombre',
    language: 'English',
    menu: 'Menu',
    shortcuts: 'Raccourcis clavier',
    zone: 'Heure locale ou UTC',
  },

  key: {
    next: 'ligne suivante',
    previous: 'ligne précédente',
    open: 'ouvrir',
    openTab: 'ouvrir dans un nouvel onglet',
    copyId: 'copier l’identifiant',
    original: 'ouvrir la page d’origine',
    choose: 'choisir cette ligne',
    chooseTo: 'choisir jusqu’à cette ligne',
    chooseAll: 'choisir tout ce qui correspond',
    actions: 'actions sur les lignes choisies',
    hold: 'tenir la liste en place',
    ofPage: 'Sur cette page',
    ofAll: 'Sur toutes les pages',
    goTo: 'Aller à',
    refresh: 'relire',
    help: 'ces raccourcis',
    filter: 'filtrer cette liste',
    find: 'trouver',
    utc: 'UTC ou heure locale',
    dark: 'sombre ou clair',
    temporal: 'ouvrir dans Temporal',
    go: (page) => `aller à ${page}`,
    back: 'sortir',
    off: 'Désactiver les touches simples',
  },

  today,

  queue,

  platform,

  view,

  listing,

  saved,

  refused,

  duplicate,

  letter,

  replay,

  run,

  search,

  draft,

  outreach,

  audit,

  apiKey,
}
