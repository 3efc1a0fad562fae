import type { DemoTurn } from './scripted-turns.ts'
import { read, turns, write } from './scripted-turns.ts'

/* A build: a plan that a person approves, developers in worktrees, two rounds of review. */

export const BUILD_INPUT = { request: 'Add a preview mode to the importer', approve_plan: true }

interface PlannedTask {
  title: string
  scope: string[]
  dependencies?: string[]
}

const planned = (task_id: string, { title, scope, dependencies = [] }: PlannedTask) => ({
  ...{ task_id, title, description: `${title}. Keep the importer as it is without the option.`, priority: 'high' },
  ...{ dependencies, scope, acceptance_criteria: ['Nothing is written in a preview'], testing_required: false },
  agent: 'developer',
})

const PLAN = {
  summary: 'A function that computes what an import would change, an option for it, and a line in the guide.',
  ...{ no_change_reason: null, tests_must_pass: false },
  tasks: [
    planned('T1', { title: 'Compute the changes', scope: ['src/import-preview.ts'] }),
    planned('T2', { title: 'Add the option --preview', scope: ['src/importer.ts'], dependencies: ['T1'] }),
    planned('T3', { title: 'Describe the preview', scope: ['docs/**'] }),
  ],
}

const FINDING = {
  ...{ finding_id: 'F1', severity: 'major', category: 'logic', file: 'src/import-preview.ts', line: 1 },
  description: 'Rows that an import would delete are missing from the preview.',
}

const done = (summary: string): DemoTurn => ({
  object: { status: 'completed', summary, notes: null, blockers: [] },
  delayMs: 1_200,
})
const work = (file: string, content: string, summary: string): DemoTurn[] => [
  { toolCalls: [read('src/importer.ts')], delayMs: 900 },
  { toolCalls: [write(file, content)], delayMs: 2_100 },
  done(summary),
]

const REPORT = `The importer has a preview mode, on a branch of its own.

- \`src/import-preview.ts\` computes what would be **created, changed and deleted**.
- \`--preview\` prints it and writes nothing.
- No test shows that it runs: the project has none.
`

const fixed = 'export const preview = (rows: string[]) => ({ created: rows, changed: [], deleted: [] })\n'
const first = 'export const preview = (rows: string[]) => ({ created: rows, changed: [] })\n'
const option = "export const options = ['--file', '--preview']\n"

export const buildRules = [
  { when: { agent: 'architect', says: 'final report' }, reply: { text: REPORT, delayMs: 1_000 } },
  ...turns('architect', 'preview mode', [
    { text: 'The importer first.', toolCalls: [read('src/importer.ts')], delayMs: 1_100 },
    { object: PLAN, delayMs: 1_900 },
  ]),
  ...turns('developer', '<required_changes>', [
    { toolCalls: [read('src/import-preview.ts')], delayMs: 900 },
    { toolCalls: [write('src/import-preview.ts', fixed)], delayMs: 1_900 },
    done('Deleted rows are listed, too.'),
  ]),
  ...turns('developer', 'T1: ', work('src/import-preview.ts', first, 'Wrote src/import-preview.ts.')),
  ...turns('developer', 'T2: ', work('src/importer.ts', option, 'Added the option to src/importer.ts.')),
  ...turns('developer', 'T3: ', work('docs/preview.md', '# Preview an import\n', 'Wrote docs/preview.md.')),
  {
    when: { agent: 'reviewer', says: 'deleted: \\[\\]' },
    reply: { object: { verdict: 'approved', summary: 'Complete now.', findings: [] }, delayMs: 1_800 },
  },
  {
    when: { agent: 'reviewer', says: 'preview mode' },
    reply: {
      object: { verdict: 'changes_requested', summary: 'One part is missing.', findings: [FINDING] },
      delayMs: 2_400,
    },
  },
]
