// Everything that the console says in English. A sentence with figures is a function: grammar belongs to the language.

import { code } from './en_codes'
import { run } from './en_crawl'
import { draft, search } from './en_drafts'
import { plural } from './format'
import { duplicate, listing, platform, refused, saved, view } from './en_listings'
import { apiKey, audit, letter, licences, queue, replay } from './en_operations'
import { outreach } from './en_outreach'
import { today } from './en_today'

const s = plural('en')

export const en = {
  // Everywhere.
  any: 'any',
  asTable: 'As a table',
  all: 'all',
  ago: (d: string) => `${d} ago`,
  in: (d: string) => `in ${d}`,
  cancel: 'Cancel',
  clear: 'Clear filters',
  close: 'Close',
  copied: 'copied',
  counting: 'Counting …',
  copy: 'Copy',
  inTemporal: 'Each step in Temporal',
  live: 'live',
  look: 'Look',
  noAnswer: 'The API does not answer',
  more: 'More',
  chosen: (_: number, c: string) => `${c} chosen`,
  chosenAll: 'All that match are chosen',
  chooseAll: 'All that match',
  chooseNone: 'None',
  newRows: (_: number, c: string) => `${c} new`,
  space: 'space',
  allOf: (c: string) => `all ${c}`,
  moreFilters: 'More filters',
  fewerFilters: 'Fewer filters',
  none: 'none',
  or: 'or',
  pause: 'Pause',
  reading: 'Reading …',
  readingMore: 'Reading more …',
  removeIt: 'remove it',
  reset: 'Reset',
  resume: 'Resume',
  retryAfter: (n: number) => `Try again in ${n} s.`,
  rows: (n: number, c: string) => `${c} ${s(n, 'row')}`,
  rowsSoFar: (c: string) => `${c} rows so far, more below`,
  save: 'Save',
  stale: (at: string) => `stale since ${at}`,
  start: 'Start',
  stop: 'Stop',
  tryAgain: 'Try again',
  typeTheNumber: (n: string) => `Type ${n} to confirm:`,
  unknownFilter: (names: string) => `This list cannot be filtered by ${names}.`,
  nothingMatches: 'Nothing matches. Remove a filter:',
  matching: (n: number, c: string) => (n === 0 ? 'Nothing matches.' : `${c} ${s(n, 'matches', 'match')}.`),
  doneOf: (done: string, n: string) => `${done} of ${n}`,
  needsRole: (role: string) => `needs the role ${role}`,
  needsService: (names: string) => `cannot start while ${names} is away`,
  servicesAway: (n: number, names: string) => `${names} ${s(n, 'does', 'do')} not answer.`,
  nothingStarts: 'What is stored can be read; nothing can be started now.',
  polling: 'every 5 s',
  skipToContent: 'Skip to content',
  notFound: 'There is no such page.',
  crashed: 'This part of the page failed. The rest goes on.',
  newVersion: 'A new version is here: reload',
  authenticationOff: 'authentication is off',

  login: {
    title: 'Sign in',
    intro: 'This API asks for a key. It is sent once and kept nowhere in the page.',
    key: 'API key',
    enter: 'Sign in',
    out: 'Sign out',
    notOut: 'You may still be signed in',
    oidc: 'Sign in with your organization',
    orKey: 'Or with an API key. It is sent once and kept nowhere in the page.',
    request: 'ID of the request, for the log:',
    failed: {
      stale: 'The sign-in took too long, or another one was begun since. Sign in again.',
      denied: 'The identity provider did not let you in. Sign in again, or ask its administrator for access.',
      invalid:
        'The answer of the identity provider could not be trusted. Sign in again; if this repeats, inform an operator.',
      setup:
        'The identity provider does not accept this API. An operator has to compare the client ID, its secret and the redirect URL.',
      away: 'The identity provider does not answer. Try again in a minute, or sign in with an API key.',
      role: 'You have no role here. Ask an operator for one, and sign in again.',
      tenant: 'Your organization was removed from here. Ask an operator, if this is a surprise.',
      wait: 'Too many sign-ins from your address failed. Wait a minute, and sign in again.',
    },
  },

  licences,

  code,

  find: {
    pages: 'Pages',
    lists: 'Search in',
    hint: 'An ID, a number, a URL, a workflow ID, a street address or words.',
    failed: 'The API could not search now.',
    nothing: 'Nothing found by an ID, a number, a URL, a workflow ID, a street address, a title or a name.',
    partial: (kinds: string) => `Not all could be searched in time: ${kinds}.`,
    found: (n: number) => `${n} found`,
    kind: {
      listing: 'Listings',
      draft: 'Drafts',
      request: 'Requests for drafts',
      crawl: 'Crawls',
      page: 'Stored pages',
      replay: 'Replays',
      dead_letter: 'Dead letters',
      platform: 'Platforms',
      campaign: 'Campaigns',
      upload: 'Uploads',
      message: 'Messages',
    },
  },

  nav: {
    label: 'Console',
    today: 'Today',
    listings: 'Listings',
    refused: 'Refused',
    duplicates: 'Duplicates',
    platforms: 'Platforms',
    replays: 'Replays',
    savedSearches: 'Saved searches',
    crawl: 'Crawl',
    runs: 'Runs',
    search: 'Search',
    pages: 'Pages',
    drafts: 'Drafts',
    requests: 'Requests',
    outreach: 'Outreach',
    uploads: 'Uploads',
    campaigns: 'Campaigns',
    messages: 'Messages',
    contacts: 'Contacts',
    tenants: 'Tenants',
    operations: 'Operations',
    queues: 'Queues',
    deadLetters: 'Dead letters',
    activity: 'Activity',
    keys: 'Keys',
    find: 'Find a page, an ID, a URL, words',
    theme: 'Light or dark',
    language: 'Français',
    menu: 'Menu',
    shortcuts: 'Keyboard shortcuts',
    zone: 'Switch between local time and UTC',
  },

  key: {
    next: 'next row',
    previous: 'previous row',
    open: 'open',
    openTab: 'open in a new tab',
    copyId: 'copy the ID',
    original: 'open the original page',
    choose: 'choose this row',
    chooseTo: 'choose up to this row',
    chooseAll: 'choose all that match',
    actions: 'actions for what is chosen',
    hold: 'hold the list still',
    ofPage: 'On this page',
    ofAll: 'On every page',
    goTo: 'Go to',
    refresh: 'read again',
    help: 'these shortcuts',
    filter: 'filter this list',
    find: 'find anything',
    utc: 'UTC or local time',
    dark: 'dark or light',
    temporal: 'open in Temporal',
    go: (page: string) => `go to ${page}`,
    back: 'back out',
    off: 'Switch single letters off',
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
