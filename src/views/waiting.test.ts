import { describe, expect, test } from 'vitest'
import type { Event } from '../kernel/event.ts'
import type { RequestProgress } from '../kernel/request-progress.ts'
import type { SeenRequests } from './waiting.ts'
import { nextNoticeMs, noticesDue, OpenRequests, retryText, stoppingText, waitingText } from './waiting.ts'

/** The open requests of a run with one session, whose first request began at time 0. */
function openRequests() {
  const requests = new OpenRequests()
  let seq = 0
  const add = (at: number, type: string, data: object) => {
    seq += 1
    requests.add({ run_id: 'r', seq, at, type, session_id: 's', data } as unknown as Event)
    return seq
  }
  add(0, 'session:open', { agent: { name: 'lead' } })
  const begin = (at: number, attempt: number, model = 'a/b') => add(at, 'model:begin', { key: 'k', attempt, model })
  return { requests, add, begin }
}

const seen = (progress?: Partial<RequestProgress>): SeenRequests => ({
  idle_timeout_ms: 240_000,
  progress: () => progress && { received_chars: 0, ...progress },
})

describe('what a run waits for', () => {
  test('TL18 a request without an outcome is told with its progress and when it is given up', () => {
    const { requests, add, begin } = openRequests()
    begin(0, 1)
    const text = (progress?: Partial<RequestProgress>) =>
      requests.list(seen(progress)).map((request) => waitingText(request, 42_900))
    expect(text()).toEqual(['connecting to a/b · 42 s (gives up after 4m00s)'])
    expect(text({ sent_at: 5 })).toEqual(['waiting for a/b · 42 s, nothing received (gives up after 4m00s)'])
    expect(text({ sent_at: 5, received_at: 900, last_received_at: 20_900 })).toEqual([
      'receiving from a/b · 42 s, last part 22 s ago (gives up after 4m00s of silence)',
    ])
    expect(requests.list(undefined).map((request) => waitingText(request, 42_900))).toEqual([
      'waiting for a/b · 42 s (in a process of another machine: no more is known)',
    ])
    expect(requests.list(seen({ sent_at: 5 }))).toEqual([
      {
        ...{ session_id: 's', agent: 'lead', model: 'a/b', state: 'silent', since: 0, attempt: 1, max_attempts: null },
        ...{ last_received_at: null, gives_up_at: 240_000, retry_at: null, reason: null },
      },
    ])
    add(50_000, 'model:end', { key: 'k' })
    expect(requests.list(seen())).toEqual([])
  })

  test('TL18 a failed request that is sent again has its reason, its attempt and the time of the next one', () => {
    const { requests, add, begin } = openRequests()
    begin(0, 1)
    const error = { code: 'model_rate_limited', message: 'a/b returned 429: no' }
    const retry = { model: 'a/b', delay_ms: 120_000, attempt: 2, of: 4 }
    add(1000, 'model:error', { key: 'k', error, response: { status: 429 }, retry })
    const [waiting] = requests.list(seen())
    expect(waiting).toMatchObject({ state: 'retrying', since: 1000, retry_at: 121_000, reason: '429 rate limited' })
    expect(waiting && waitingText(waiting, 31_000)).toBe('waiting for a/b · 429 rate limited; attempt 2 of 4 in 1m30s')
    begin(121_000, 2)
    expect(requests.list(seen({ sent_at: 121_001 })).map((request) => waitingText(request, 122_000))).toEqual([
      'waiting for a/b · 1 s · attempt 2 of 4, nothing received (gives up after 4m00s)',
    ])
    add(123_000, 'model:error', { key: 'k', error })
    expect(requests.list(seen())).toEqual([])
    begin(124_000, 3)
    add(125_000, 'run:attempt', {})
    expect(requests.list(seen())).toEqual([])
  })

  test('TL18 names of models and messages of providers are inert', () => {
    const { requests, add, begin } = openRequests()
    begin(0, 1, 'a/\u001b[31mb')
    expect(waitingText(requests.list(undefined)[0] as never, 0)).not.toContain('\u001b')
    const retry = { model: 'a/b', delay_ms: 1 }
    add(1, 'model:error', { key: 'k', error: { code: 'model_failed', message: 'x\u001b]0;t\u0007y\nz' }, retry })
    expect(requests.list(seen())[0]?.reason).toBe('xy z')
  })

  test('TL18 the words for a retry name the fallback, and journals of older versions have no attempt', () => {
    expect(retryText({ reason: '529 overloaded', attempt: 3, of: 4, delay_ms: 0, model: 'c/d' })).toBe(
      '529 overloaded; attempt 3 of 4 with c/d',
    )
    expect(retryText({ reason: 'no', delay_ms: 2000 })).toBe('no; sent again in 2.0 s')
  })

  test('L102 stopping names the requests, the longest wait, and that they may already cost', () => {
    const { requests, begin } = openRequests()
    begin(0, 1)
    expect(stoppingText(requests.list(seen({ sent_at: 1 })), 42_000)).toBe(
      'waiting for requests in flight: a/b, for up to 3m18s if nothing arrives; what was sent may already cost',
    )
    expect(stoppingText([], 0)).toBe('waiting for requests in flight')
  })

  test('TL18 a reader is told after 15 s, 60 s, then each minute', () => {
    const times = [0]
    while ((times.at(-1) as number) < 200_000) times.push(nextNoticeMs(times.at(-1) as number))
    expect(times).toEqual([0, 15_000, 60_000, 120_000, 180_000, 240_000])
    expect(times.map(noticesDue)).toEqual([0, 1, 2, 3, 4, 5])
  })
})
