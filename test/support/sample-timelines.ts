import type { Timeline } from '../../src/views/timeline/timeline.ts'
import type { CallScript, TurnScript } from './timeline-builder.ts'
import { timelineOf } from './timeline-builder.ts'

/* Made-up runs that show the whole grammar of the swimlanes. All are deterministic. */

const START = Date.UTC(2026, 10, 16, 13, 2, 10)

type CallWords = [tool: string, offset: number, seconds: number, target: string, status?: CallScript['status']]
type TurnWords = [title: string, seconds: number | null, ...calls: CallWords[]]

/** Turns of a session one after another, with a pause of two seconds between them. */
function turnsOf(session: string, from: number, words: readonly TurnWords[]): TurnScript[] {
  let at = from
  return words.map(([title, seconds, ...calls]) => {
    const start = at
    at += (seconds ?? 0) + 2
    return {
      session,
      from: start,
      to: seconds === null ? null : start + seconds,
      title,
      calls: calls.map(([tool, offset, duration, target, status]) => ({
        tool,
        at: start + offset,
        seconds: duration,
        target,
        ...(status ? { status } : {}),
      })),
    }
  })
}

/** The gap in which the plan waits for a person. */
const GAP = 1570

/** A build with an approved plan, three developers, a review with findings, a blocked developer and an open question; 848 s active. */
export function buildSample(): Timeline {
  const later = (seconds: number) => seconds + GAP
  return timelineOf({
    title: 'Sign in with a second factor',
    pattern: 'sample',
    start: START,
    end: null,
    agents: [
      { name: 'architect', model: 'opus-4.5' },
      { name: 'developer-1', model: 'sonnet-4.5', parent: 'architect' },
      { name: 'developer-2', model: 'sonnet-4.5', parent: 'architect' },
      { name: 'developer-3', model: 'sonnet-4.5', parent: 'architect' },
      { name: 'reviewer', model: 'gpt-5-mini', parent: 'architect' },
    ],
    sessions: [
      { id: 's0', agent: 'architect', from: 0, to: null, title: 'Plan and delegate' },
      {
        id: 's1',
        agent: 'developer-1',
        from: later(102),
        to: later(326),
        title: '1 Secret store',
        parent: 's0',
        group: 'g1',
      },
      {
        id: 's2',
        agent: 'developer-2',
        from: later(103),
        to: later(424),
        title: '2 Endpoints',
        parent: 's0',
        group: 'g1',
      },
      {
        id: 's3',
        agent: 'developer-3',
        from: later(104),
        to: later(373),
        title: '3 Code form',
        parent: 's0',
        group: 'g1',
      },
      {
        id: 's4',
        agent: 'reviewer',
        from: later(464),
        to: later(567),
        title: 'Review 1',
        parent: 's0',
        result: '3 findings',
      },
      {
        id: 's5',
        agent: 'developer-2',
        from: later(610),
        to: null,
        title: '2 Fix F-1, F-2',
        parent: 's0',
        group: 'g2',
        status: 'waiting',
      },
      { id: 's6', agent: 'developer-3', from: later(612), to: null, title: '3 Fix F-3', parent: 's0', group: 'g2' },
    ],
    turns: [
      ...turnsOf('s0', 0, [
        [
          'Survey the sign-in code',
          28,
          ['Glob', 4, 1, 'src/auth/**'],
          ['Grep', 13, 1, 'totp|otp'],
          ['Read', 22, 2, 'src/auth/session.ts'],
        ],
        [
          'Plan three tasks',
          32,
          ['Plan', 5, 1, ''],
          ['Task', 14, 1, 'Secret store'],
          ['Task', 15, 1, 'Endpoints'],
          ['Task', 16, 1, 'Code form'],
          ['Plan', 27, 1, ''],
        ],
      ]),
      ...turnsOf('s0', later(76), [
        ['Delegate', 11, ['Task', 4, 1, 'developer-1'], ['Task', 5, 1, 'developer-2'], ['Task', 6, 1, 'developer-3']],
      ]),
      ...turnsOf('s0', later(194), [
        [
          'Answer developer-2',
          18,
          ['Read', 4, 2, 'docs/auth.md'],
          ['Message', 13, 1, 'developer-2: start with the mail'],
        ],
      ]),
      ...turnsOf('s0', later(432), [
        ['Collect, request review', 18, ['Task', 4, 1, '3 tasks done'], ['Task', 13, 1, 'reviewer']],
      ]),
      ...turnsOf('s0', later(575), [
        [
          'Turn findings into fixes',
          21,
          ['Task', 4, 1, 'round 2'],
          ['Task', 14, 1, 'developer-2'],
          ['Task', 16, 1, 'developer-3'],
        ],
      ]),
      ...turnsOf('s1', later(102), [
        [
          'Read store conventions',
          28,
          ['Read', 3, 2, 'src/db/store.ts'],
          ['Read', 12, 2, 'src/db/migrations/0041.sql'],
          ['Grep', 21, 1, 'randomBytes'],
        ],
        [
          'Write store and migration',
          32,
          ['Write', 6, 3, 'src/auth/secret-store.ts'],
          ['Write', 22, 2, 'src/db/migrations/0042.sql'],
        ],
        ['Run tests', 22, ['Bash', 5, 14, 'npm test -- secret-store', 'failed']],
        ['Fix expiry', 23, ['Edit', 12, 2, 'src/auth/secret-store.ts']],
        [
          'Encrypt at rest',
          45,
          ['Bash', 6, 18, 'npm test -- secret-store'],
          ['Edit', 34, 2, 'src/auth/secret-store.ts'],
        ],
        ['Self review', 60, ['Bash', 6, 19, 'npm test -- auth'], ['Bash', 36, 14, 'npm run types']],
      ]),
      ...turnsOf('s2', later(103), [
        [
          'Read routes',
          29,
          ['Read', 3, 2, 'src/http/routes/auth.ts'],
          ['Read', 13, 2, 'src/mail/mailer.ts'],
          ['Grep', 22, 1, 'rateLimit'],
        ],
        [
          'Write the mail',
          30,
          ['Write', 9, 3, 'src/mail/templates/code.ts'],
          ['Read', 22, 2, 'test/mail/welcome.test.ts'],
        ],
        [
          'Look for the secret store',
          21,
          ['Grep', 4, 1, 'SecretStore'],
          ['Message', 15, 1, 'architect: SecretStore is missing'],
        ],
      ]),
      ...turnsOf('s2', later(336), [
        [
          'Write endpoints',
          35,
          ['Read', 5, 2, 'src/auth/secret-store.ts'],
          ['Write', 21, 3, 'src/http/routes/code.ts'],
        ],
        ['Test endpoints', 47, ['Edit', 8, 2, 'src/http/routes/index.ts'], ['Bash', 19, 20, 'npm test -- routes/code']],
      ]),
      ...turnsOf('s3', later(104), [
        [
          'Read form components',
          36,
          ['Glob', 5, 1, 'web/src/forms/**'],
          ['Read', 18, 2, 'web/src/forms/LoginForm.tsx'],
        ],
        [
          'Write form and test',
          70,
          ['Write', 18, 4, 'web/src/forms/CodeForm.tsx'],
          ['Write', 50, 3, 'web/test/CodeForm.test.tsx'],
        ],
        ['Run component tests', 74, ['Bash', 8, 26, 'npm test -w web'], ['Edit', 60, 2, 'web/src/forms/CodeForm.tsx']],
        [
          'Label errors for screen readers',
          78,
          ['Edit', 16, 2, 'web/src/forms/CodeForm.tsx'],
          ['Bash', 40, 24, 'npm test -w web'],
        ],
      ]),
      ...turnsOf('s4', later(464), [
        [
          'Read the merged diff',
          32,
          ['Read', 4, 2, 'main...sign-in'],
          ['Read', 14, 2, 'src/http/routes/code.ts'],
          ['Grep', 24, 1, 'timingSafeEqual'],
        ],
        ['Verify', 50, ['Bash', 5, 26, 'npm test'], ['Bash', 32, 12, 'npm run types']],
        ['Write the verdict', 14],
      ]),
      ...turnsOf('s5', later(610), [
        ['Read findings F-1, F-2', 30, ['Read', 5, 2, 'src/http/routes/code.ts'], ['Grep', 18, 1, 'limiter']],
        [
          'Limit requests per address',
          48,
          ['Edit', 10, 2, 'src/http/routes/code.ts'],
          ['Bash', 25, 16, 'npm test -- routes/code', 'failed'],
        ],
        [
          'Add the missing dependency',
          null,
          ['Read', 6, 2, 'package.json'],
          ['Edit', 22, 2, 'package.json', 'waiting'],
        ],
      ]),
      ...turnsOf('s6', later(612), [
        [
          'Read finding F-3',
          44,
          ['Read', 7, 2, 'web/src/forms/CodeForm.tsx'],
          ['Edit', 32, 2, 'web/src/forms/CodeForm.tsx'],
        ],
        ['Same text for known and unknown', 68, ['Edit', 36, 2, 'web/src/forms/CodeForm.tsx']],
        ['Run end-to-end tests', null, ['Bash', 54, 66, 'npm run e2e -- code', 'running']],
      ]),
    ],
    gates: [
      { agent: 'architect', from: 62, to: later(74), question: 'Approve the plan?' },
      { agent: 'developer-2', from: later(718), to: null, question: 'Edit package.json?', call: 't27c2' },
    ],
    phases: [
      { title: 'Plan', from: 0, to: 62 },
      { title: 'Build, 3 in parallel', from: later(76), to: later(430) },
      { title: 'Review 1', from: later(432), to: later(572) },
      { title: 'Fix, round 2 of 3, 2 in parallel', from: later(575), to: null },
    ],
    pauses: [{ kind: 'blocked', session: 's2', from: later(188), to: later(335), text: 'Blocked by task 1' }],
    links: [
      ...delegations(later(87), 'g1', [
        ['s1', 'developer-1', later(326)],
        ['s2', 'developer-2', later(424)],
        ['s3', 'developer-3', later(373)],
      ]),
      ...delegations(later(450), null, [['s4', 'reviewer', later(567)]]),
      ...delegations(later(596), 'g2', [
        ['s5', 'developer-2', null],
        ['s6', 'developer-3', null],
      ]),
      {
        kind: 'message',
        from: 's2',
        to: 's0',
        fromAgent: 'developer-2',
        toAgent: 'architect',
        at: later(190),
        label: 'SecretStore is missing',
      },
      {
        kind: 'message',
        from: 's0',
        to: 's2',
        fromAgent: 'architect',
        toAgent: 'developer-2',
        at: later(214),
        label: 'Start with the mail',
      },
      {
        kind: 'dependency',
        from: 's1',
        to: 's2',
        fromAgent: 'developer-1',
        toAgent: 'developer-2',
        at: later(328),
        until: later(335),
        label: 'Task 1 is done',
      },
    ],
    messages: [
      { from: 'architect', to: 'developer-1', at: later(87), type: 'task_assignment', text: 'Secret store' },
      { from: 'developer-2', to: 'architect', at: later(190), type: 'question', text: 'SecretStore is missing' },
    ],
  })
}

/** Time of `now` in the build sample. */
export const BUILD_SAMPLE_NOW = START + (848 + GAP) * 1000

type Target = [session: string, agent: string, until: number | null]

function delegations(at: number, group: string | null, targets: readonly Target[]) {
  return targets.map(([to, toAgent, until]) => ({
    kind: 'delegation' as const,
    from: 's0',
    to,
    fromAgent: 'architect',
    toAgent,
    at,
    until,
    label: `Task of ${toAgent}`,
    ...(group ? { group } : {}),
  }))
}
