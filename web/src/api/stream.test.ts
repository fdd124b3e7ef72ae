import type { QueryClient } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { isShort, pace, staleBy } from './stale'
import { isTold, listen, show, wanted } from './stream'

/** reads are the times at which a query is read while something happens each second, in seconds. */
function reads(name: string, seconds: number) {
  const all: number[] = []
  let last: { at: number; gap: number } | undefined
  for (let now = 0; now < 1000 * seconds;) {
    const next = pace(name, now, last)
    last = { at: now + next.wait, gap: next.gap }
    all.push(last.at / 1000)
    now = 1000 * Math.ceil((last.at + 1) / 1000) // the next event
  }
  return all
}

test('the first changes are read at once, then the less often the longer they go on', () => {
  expect(reads('recent', 17)).toEqual([0.3, 1.3, 3.3, 7.3, 12.3, 17.3])
})

test('what nobody watches go by is read each second', () => {
  expect(reads('letters', 5)).toEqual([0.3, 1.3, 2.3, 3.3, 4.3])
})

test('after a rest the first change is read at once again', () => {
  expect(pace('flow', 60_000, { at: 20_000, gap: 5_000 })).toEqual({ wait: 300, gap: 1_000 })
})

test('a topic of one item makes its query stale, and no other of its kind', () => {
  expect(staleBy('upload:7a')).toEqual([
    { name: 'upload', id: '7a' },
    { name: 'refusals', id: '7a' },
  ])
  expect(staleBy('campaign:7a')).toContainEqual({ name: 'messages', id: '7a' })
  expect(staleBy('run:12')).toEqual(['run', 'why', 'urls'].map((name) => ({ name, id: '12' })))
  expect(staleBy('letters').map((s) => s.name)).toEqual(expect.arrayContaining(['letter', 'draft-requests']))
  expect(staleBy('resync').map((s) => s.name)).toEqual(expect.arrayContaining(['flow', 'campaign']))
  expect(staleBy('beat')).toEqual([])
})

test('a list that was read on is not read again with each event', () => {
  expect(isShort(undefined)).toBe(true)
  expect(isShort({ total: 2 })).toBe(true)
  expect(isShort({ pages: [{}] })).toBe(true)
  expect(isShort({ pages: [{}, {}] })).toBe(false)
})

const campaignA = 'campaign:aaaaaaaa-0c4d-4e5f-8a6b-7c8d9e0f1a2b'
const uploadB = 'upload:bbbbbbbb-0c4d-4e5f-8a6b-7c8d9e0f1a2b'

test('the stream has what tabs want now, the latest first, and no more than the API takes', () => {
  const heard = new Map([
    ['run:1', 0],
    [uploadB, 20_000],
    [campaignA, 21_000],
  ])
  const pages = wanted(new Map(), 0)
  expect(wanted(heard, 22_000)).toEqual([...pages, campaignA, uploadB])
  const many = new Map(Array.from({ length: 40 }, (_, i) => [`run:${100 + i}`, 20_000 + i]))
  expect(wanted(many, 22_000)).toHaveLength(20)
  expect(wanted(many, 22_000)).toContain('run:139')
})

test('a topic that the API would refuse, and all others with it, is not asked for', () => {
  const id = '9d1f2a3b-0c4d-4e5f-8a6b-7c8d9e0f1a2b'
  const asked = ['run:NaN', 'run:0', 'run:1.5', 'upload:9d1f', `upload:${id.toUpperCase()}`, `letter:${id}`]
  const good = [`campaign:${id}`, 'run:12', `upload:${id}`]
  expect(wanted(new Map([...asked, ...good].map((topic) => [topic, 0])), 0)).toEqual([...wanted(new Map(), 0), ...good])
})

test('a topic that the stream has stays as long as it is wanted, however many others are', () => {
  const many = new Map(Array.from({ length: 13 }, (_, i) => [`run:${100 + i}`, 20_000]))
  const has = wanted(many, 22_000)
  many.set(uploadB, 21_000)
  expect(wanted(many, 22_000, has)).toEqual(has)
  many.set('run:103', 1_000)
  expect(wanted(many, 22_000, has)).toEqual([...has.filter((t) => t !== 'run:103'), uploadB])
})

describe('a tab', () => {
  const page = Object.assign(new EventTarget(), { hidden: false })
  let streams: Stream[] = []
  let channels: Channel[] = []
  let heard: string[] = [] // by another tab
  const undo: (() => void)[] = []

  /** Stream is an EventSource, of which the test is the API. */
  class Stream extends EventTarget {
    static OPEN = 1
    static CLOSED = 2
    readyState = 0
    onopen = () => {}
    constructor(readonly url: string) {
      super()
      streams.push(this)
    }
    close = () => (this.readyState = Stream.CLOSED)
    opens() {
      this.readyState = Stream.OPEN
      this.onopen()
    }
    has = () => this.url.split('=')[1]!.split(',')
  }

  /** Channel is a BroadcastChannel between this tab and another, which is the test. */
  class Channel extends EventTarget {
    constructor() {
      super()
      channels.push(this)
    }
    postMessage = (m: string) => heard.push(m)
    close = () => {}
    hears = (m: string) => this.dispatchEvent(new MessageEvent('message', { data: m }))
  }

  const looksAway = (hidden: boolean) => {
    page.hidden = hidden
    page.dispatchEvent(new Event('visibilitychange'))
  }
  const shows = (topic: string) => undo.push(show(topic))
  const opens = () => undo.push(listen({ invalidateQueries: () => Promise.resolve() } as unknown as QueryClient))
  const latest = () => streams.at(-1)!

  beforeEach(() => {
    vi.useFakeTimers()
    page.hidden = false
    streams = []
    channels = []
    heard = []
    vi.stubGlobal('document', page)
    vi.stubGlobal('navigator', {})
    vi.stubGlobal('EventSource', Stream)
    vi.stubGlobal('BroadcastChannel', Channel)
  })
  afterEach(() => {
    undo.splice(0).forEach((u) => u())
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  test('that nobody sees leaves the stream once, and comes back when it is looked at', () => {
    shows('run:1')
    opens()
    latest().opens()
    expect(latest().has()).toContain('run:1')
    looksAway(true)
    heard = []
    vi.advanceTimersByTime(600_000)
    expect(heard.filter((m) => m.startsWith('want '))).toEqual([])
    expect(streams.filter((s) => !s.has().includes('run:1'))).not.toEqual([])
    expect(new Set(streams.map((s) => s.url)).size).toBe(2)
    expect(streams.findLastIndex((s) => s.has().includes('run:1'))).toBe(0)
    looksAway(false)
    expect(latest().has()).toContain('run:1')
    expect(heard).toContain('want run:1')
  })

  test('that is loaded anew hears what the stream has, without another stream', () => {
    opens()
    channels[0]!.hears('want run:1')
    const all = 'has ' + latest().has().join(',')
    expect(all).toContain('run:1')
    channels[0]!.hears('want run:1')
    expect(heard).not.toContain(all) // it is not open yet
    latest().opens()
    expect(heard).toContain(all)
    heard = []
    const n = streams.length
    channels[0]!.hears('want run:1')
    expect(heard).toEqual([all])
    expect(streams).toHaveLength(n)
  })

  test('does not take what the stream has for a word of the stream', () => {
    vi.setSystemTime(Date.now() + 3_600_000) // the other tests are forgotten
    vi.stubGlobal('navigator', { locks: { request: () => new Promise(() => {}) } }) // another tab holds the stream
    opens()
    channels[0]!.hears('has report,run:1')
    expect(isTold('run:1')).toBe(false)
    channels[0]!.hears('beat')
    expect(isTold('run:1')).toBe(true)
    vi.advanceTimersByTime(39_000)
    channels[0]!.hears('has report,run:1')
    vi.advanceTimersByTime(2_000)
    expect(isTold('run:1')).toBe(false)
  })
})
