import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { realWorld } from '../../src/engine/real-world.ts'
import type { TroupeOptions } from '../../src/index.ts'
import type { WireReplies } from './wire-recorder.ts'

/* Two builds whose agents get every kind of request of a build: see README.md in this folder. */

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-golden-build-')))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const FILES = { 'src/door.ts': 'export const door = 1\n', 'test/door.test.ts': "import '../src/door.ts'\n" }

/** A repository with the same commit on every machine. */
function createGoldenRepository(name: string): string {
  const path = join(folder, name)
  for (const sub of ['src', 'test']) mkdirSync(join(path, sub), { recursive: true })
  for (const [file, text] of Object.entries(FILES)) writeFileSync(join(path, file), text)
  const git = (...args: string[]) => execFileSync('git', ['-C', path, ...args], { stdio: 'pipe' })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('-c', 'user.name=Golden', '-c', 'user.email=golden@example.com', 'commit', '-q', '-m', 'Begin')
  return path
}

const planned = (task_id: string, scope: string[]) => ({
  ...{ task_id, title: `Open ${task_id}`, description: 'Open the door.', priority: 'high', scope, agent: 'developer' },
  acceptance_criteria: ['the door is open'],
  reference_files: ['src/door.ts'],
})
const plan = (...tasks: object[]) =>
  JSON.stringify({ summary: 'Open it', no_change_reason: null, tests_must_pass: true, removes_tests: false, tasks })
const bash = (command: string) => ({ call: { name: 'Bash', arguments: JSON.stringify({ command }) } })
const report = (status: string, more: object = {}) => JSON.stringify({ status, summary: 'Opened.', ...more })
const review = (verdict: string, ...findings: object[]) =>
  JSON.stringify({ verdict, summary: 'The door is not painted.', findings })
const finding = { severity: 'major', category: 'bug', file: 'src/door.ts', line: 1, description: 'no colour' }
const decision = JSON.stringify({ decision: 'retry', agent: null, instruction: 'Use a key.', reason: 'nearly done' })

function buildScenario(name: string, replies: WireReplies, settings: object = {}) {
  const createOptions = (): Partial<TroupeOptions> => {
    vi.stubEnv('XDG_STATE_HOME', join(folder, `state-${name}`))
    onTestFinished(() => void vi.unstubAllEnvs())
    return {
      workspace: { workspace: createGoldenRepository(name), sandbox: 'none' },
      engine: { world: { ...realWorld(), now: () => Date.UTC(2026, 10, 16) } },
      build: { checks: { test: 'true' }, ...settings },
    }
  }
  const input = { request: 'Open the door.', style_guide: 'No semicolons.', focus_areas: ['security'] }
  return { pattern: 'build', input, replies, createOptions }
}

const rounds = buildScenario(
  'rounds',
  {
    architect: [
      plan(planned('T1', ['../door.ts'])),
      plan(planned('T1', ['src/**'])),
      decision,
      plan(planned('T2', ['src/**'])),
      'The door is open.',
    ],
    developer: [
      bash('echo "// ajar" >> src/door.ts'),
      report('partial', { blockers: ['no key'] }),
      bash('echo "// open" >> src/door.ts'),
      report('completed'),
      report('completed'),
      bash('echo "// painted" >> src/door.ts'),
      report('completed'),
    ],
    reviewer: [review('changes_requested', finding), review('rejected', finding), review('approved')],
  },
  { checks: { test: 'grep painted src/door.ts || { echo "The door is not painted."; exit 1; }' } },
)

const edit = (text: string) => bash(`echo "export const door = ${text}" > src/door.ts`)
const conflict = buildScenario('conflict', {
  architect: [
    plan(planned('T1', ['src/door.ts']), { ...planned('T2', ['src/door.ts']), agent: 'tester' }),
    'The door is open.',
  ],
  // The branch of the second task begins before the first one is merged, so that they conflict.
  developer: [bash('git branch "$(git branch --show-current | sed s/T1-1/T2-1/)"'), edit('2'), report('completed')],
  tester: [edit('3'), report('completed'), edit('5'), report('completed')],
  reviewer: [review('approved')],
})

export const buildScenarios = {
  'build-plan': { scenario: rounds, agent: 'architect' },
  'build-plan-correction': { scenario: rounds, agent: 'architect', turn: 2 },
  'build-failure': { scenario: rounds, agent: 'architect', turn: 3 },
  'build-plan-rejected': { scenario: rounds, agent: 'architect', turn: 4 },
  'build-report': { scenario: rounds, agent: 'architect', turn: 5 },
  'build-developer': { scenario: rounds, agent: 'developer' },
  'build-developer-retry': { scenario: rounds, agent: 'developer', turn: 3 },
  'build-developer-changes': { scenario: rounds, agent: 'developer', turn: 5 },
  'build-reviewer': { scenario: rounds, agent: 'reviewer' },
  'build-reviewer-again': { scenario: rounds, agent: 'reviewer', turn: 2 },
  'build-conflict': { scenario: conflict, agent: 'tester', turn: 3 },
}

/** Ids of runs and commits, and folders, differ from run to run. */
export function normalizeBuild(text: string): string {
  return text
    .replaceAll(folder, '/workspace')
    .replaceAll(/(?<=worktrees\/\w+-)[0-9a-f]{16}/g, '0'.repeat(16))
    .replaceAll(/\br_[0-9a-f]{12}\b/g, 'r_0123456789ab')
    .replaceAll(/\b[0-9a-f]{40}\b/g, '0'.repeat(40))
}
