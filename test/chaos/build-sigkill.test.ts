import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { BuildOutput, RunResult } from '../../src/index.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { SampleRepository } from '../support/build-sample.ts'
import { writeSampleRepository } from '../support/build-sample.ts'
import type { KillPoint } from './build-scenario.ts'
import { CHECK } from './build-scenario.ts'
import { runChild } from './child-process.ts'

/*
 * A build in real processes on SQLite and a real repository, killed with SIGKILL in each phase; the next process resumes it. Each case kills one
 * build several times; with TROUPE_STRESS=1, builds are killed before and after each append to the journal.
 */

const CHILD = fileURLToPath(new URL('./build-child.ts', import.meta.url))
const TIMEOUT_MS = 600_000
const [SLEEP = ''] = CHECK.split(' &&')

const before = (at: string, type?: string): KillPoint => ({ at, when: 'before', ...(type ? { type } : undefined) })
const after = (at: string, type?: string): KillPoint => ({ ...before(at, type), when: 'after' })

const KILLS: Readonly<Record<string, readonly KillPoint[]>> = {
  'receiving, planning and developing': [
    after('repository'),
    { running: SLEEP },
    after('plans/1/session', 'session:open'),
    before('tasks/1/T1/worktree'),
    before('tasks/1/T1/1/session/turn/2/tool/0', 'tool:post'),
    before('tasks/1/T1/1/commit'),
  ],
  'merging, reviewing and completing': [
    after('merges/1/T1/1/preflight'),
    before('merges/1/T2/1/merge'),
    { at: 'review/1/merged', running: SLEEP },
    after('review/1/session', 'session:open'),
    before('complete/branch'),
    before('complete/cleanup'),
  ],
}

interface Project {
  folder: string
  repository: SampleRepository
}

function createProject(): Project {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe build kill ü-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'project'))
  return { folder, repository: writeSampleRepository(join(folder, 'project')) }
}

/** The calls of the model that the journal has, and those that were made. */
async function countRequests(folder: string) {
  const store = await openSqlite(join(folder, 'troupe.db'))
  const [run] = await store.runs({ project: 'default' })
  const events = run ? await store.events(run.run_id) : []
  await store.close()
  const requests = join(folder, 'requests')
  const made = existsSync(requests) ? readFileSync(requests, 'utf8').trim().split('\n').length : 0
  const recorded = events.filter((event) => isEvent(event, 'model:end')).length
  return { made, recorded }
}

interface KilledBuild {
  result: RunResult & { output: BuildOutput }
  /** Requests that were lost in flight. */
  lost: number
  /** Points that the build had passed already: what runs in parallel has no fixed order. */
  passed: readonly KillPoint[]
}

/** Kills the build at each point in turn, then lets it end. */
async function buildKilledAt({ folder }: Project, points: readonly KillPoint[]): Promise<KilledBuild> {
  let lost = 0
  for (const [index, point] of points.entries()) {
    const { signal, code, output } = await runChild(CHILD, folder, JSON.stringify(point))
    if (code === 0 && index > 0) return { result: JSON.parse(output), lost, passed: points.slice(index) }
    expect(signal, `at ${JSON.stringify(point)}: ${output}`).toBe('SIGKILL')
    const { made, recorded } = await countRequests(folder)
    lost = made - recorded
  }
  const { code, output } = await runChild(CHILD, folder)
  expect(code, output).toBe(0)
  return { result: JSON.parse(output), lost, passed: [] }
}

/** What has to be the same whether the process was killed or not. */
function essentials({ repository }: Project, { output }: RunResult & { output: BuildOutput }) {
  const { branch, base: _base, head: _head, checks, ...rest } = output
  const tree = repository.git('rev-parse', `${branch}^{tree}`).trim()
  const commits = repository.git('log', '--format=%s', `main..${branch}`).trim().split('\n')
  return { ...rest, tree, commits: commits.sort(), checks: checks.final.map((check) => check.status) }
}

/** Everything but the branch of the result is as it was before. */
function expectNothingLeft({ folder, repository }: Project, branch: string | null, fingerprint: string): void {
  expect(repository.fingerprint()).toBe(fingerprint)
  expect(repository.git('branch', '--format=%(refname:short)').trim().split('\n')).toEqual(['main', branch])
  expect(repository.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
  expect(readdirSync(join(folder, 'state'), { recursive: true }).sort()).toEqual(['troupe', 'troupe/worktrees'])
  repository.git('fsck', '--no-progress')
}

let undisturbed:
  | Promise<{ expected: ReturnType<typeof essentials>; appends: KillPoint[]; requests: number }>
  | undefined

function undisturbedBuild() {
  undisturbed ??= (async () => {
    const project = createProject()
    const { result } = await buildKilledAt(project, [])
    const { made } = await countRequests(project.folder)
    const lines = readFileSync(join(project.folder, 'appends'), 'utf8').trim().split('\n')
    const appends = lines.flatMap((line) => {
      const point = JSON.parse(line) as KillPoint
      return [
        { ...point, when: 'before' as const },
        { ...point, when: 'after' as const },
      ]
    })
    return { expected: essentials(project, result), appends, requests: made }
  })()
  return undisturbed
}

/** Kills a build at these points and compares it with an undisturbed one. Returns the points that it had passed already. */
async function expectSameBuild(points: readonly KillPoint[]): Promise<readonly KillPoint[]> {
  const { expected, requests } = await undisturbedBuild()
  const project = createProject()
  const fingerprint = project.repository.fingerprint()
  const { result, lost, passed } = await buildKilledAt(project, points)
  expect(essentials(project, result)).toEqual(expected)
  expectNothingLeft(project, result.output.branch, fingerprint)
  // A request whose answer was lost with the process is made again; an answer that the journal has is never paid again.
  const { made, recorded } = await countRequests(project.folder)
  expect({ recorded, lost: made - recorded }).toEqual({ recorded: requests, lost })
  return passed
}

test.each(Object.keys(KILLS))(
  'BD31 killed while %s, a build resumes in another process with the same result, and leaves nothing behind',
  { timeout: TIMEOUT_MS },
  async (phases) => expect(await expectSameBuild(KILLS[phases] ?? [])).toEqual([]),
)

/** Kills of one build, far enough apart that it makes progress between them. */
const STRIDE = 8

test.runIf(process.env.TROUPE_STRESS === '1')(
  'BD31 killed before and after any append to its journal, a build resumes with the same result',
  { timeout: 100 * TIMEOUT_MS },
  async () => {
    const { appends } = await undisturbedBuild()
    const builds = Array.from({ length: STRIDE }, (_, first) => appends.filter((_, index) => index % STRIDE === first))
    const failures: string[] = []
    for (const points of builds) {
      const passed = await expectSameBuild(points).catch((thrown: Error) => {
        failures.push(`${JSON.stringify(points)}: ${thrown.message}`)
        return []
      })
      builds.push(...passed.map((point) => [point]))
      process.stderr.write(`killed at ${points.length - passed.length} of ${points.length}; ${failures.join('\n')}\n`)
    }
    expect(failures).toEqual([])
  },
)
