import type { Event } from '../../src/index.ts'
import type { BuildSettings } from '../../src/patterns/build/build-config.ts'
import type { BuildScript } from '../support/build-sample.ts'
import { json, planTask, SOLUTIONS, solve, write } from '../support/build-sample.ts'

/* A build of two developers and two rounds. The script decides from what a request says, because a resumed process has no memory. */

export const REQUEST = 'Write slug and total'
const SLUG = SOLUTIONS['src/slug.ts'] ?? ''
const PLAN = {
  summary: 'Two functions in two files',
  no_change_reason: null,
  tests_must_pass: true,
  tasks: [planTask('T1', ['src/slug.ts']), planTask('T2', ['src/total.ts'])],
}

/** The tests, as a command that takes long enough to be killed. */
export const CHECK = 'sleep 0.31 && grep -q replaceAll src/slug.ts && grep -q reduce src/total.ts'
export const BUILD_SETTINGS: BuildSettings = { checks: { test: CHECK } }

export function buildScript(onRequest: (call: string) => void): BuildScript {
  const script: BuildScript = {
    architect: ({ instruction }) =>
      instruction.includes('final report') ? { text: 'Both functions are written.' } : json(PLAN),
    developer: (call) => {
      const isFirst = !call.instruction.includes('<required_changes>')
      if (call.task === 'T1' && isFirst && call.turn === 2)
        return write('src/slug.ts', SLUG.replace(".replaceAll(' ', '-')", ''))
      return solve(call)
    },
    reviewer: ({ instruction }) => {
      if (/^\+.*replaceAll/m.test(instruction)) return json({ verdict: 'approved', summary: 'good', findings: [] })
      const finding = { severity: 'major', category: 'bug', file: 'src/slug.ts', line: 2, description: 'keeps spaces' }
      return json({ verdict: 'changes_requested', summary: 'slug keeps spaces', findings: [finding] })
    },
  }
  return Object.fromEntries(
    Object.entries(script).map(([agent, reply]) => [
      agent,
      (call) => {
        onRequest(`${agent} ${call.task} ${call.turn}`)
        return reply(call)
      },
    ]),
  )
}

/** Where a process is killed. */
export interface KillPoint {
  /** The key of an event; any event without it. */
  at?: string
  type?: string
  when?: 'before' | 'after'
  /** Instead of `when`: once a command with this text is running after the event. */
  running?: string
}

export function isAt({ type, data }: Event, { at, type: wanted }: KillPoint): boolean {
  const { key } = data as { key?: string }
  return (at === undefined || key === at) && (wanted === undefined || type === wanted)
}
