import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Model } from '../src/entries/models.ts'
import { createTroupe } from '../src/index.ts'

/*
 * npm run bench:build [-- FILES [ROUNDS]]: a whole build with four developers on a generated repository, packed as a clone is. The model answers at
 * once and there are no checks, so that everything measured is overhead: worktrees, merges, comparison of tests, journal. Beside it, the same number
 * of worktrees opened and removed with nothing but git: a build cannot be faster than the disk.
 */

const FILES = Number(process.argv[2] ?? 5_000)
const ROUNDS = Number(process.argv[3] ?? 3)
const DEVELOPERS = 4
const AIM_MS = 3_000

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-bench-build-')))
const top = join(folder, 'project')
for (let index = 0; index < FILES; index += 1) {
  const place = join(top, `packages/p${index % 50}/src`)
  if (index < 50) mkdirSync(place, { recursive: true })
  writeFileSync(join(place, `file${index}.ts`), `export const value${index} = ${index}\n`.repeat(30))
}
const git = (...args: string[]) => execFileSync('git', ['-C', top, ...args], { stdio: 'pipe' })
git('init', '--quiet')
git('add', '--all')
git('-c', 'user.name=Bench', '-c', 'user.email=bench@example.com', 'commit', '--quiet', '--message', 'Sample')
git('repack', '-a', '-d', '--quiet')
process.env.XDG_STATE_HOME = join(folder, 'state')

const tasks = Array.from({ length: DEVELOPERS }, (_, index) => ({
  ...{
    task_id: `T${index + 1}`,
    title: `Change ${index}`,
    description: 'Change it.',
    scope: [`packages/p${index}/**`],
  },
}))

const replies: Record<string, (turn: number, text: string) => string | { file_path: string; content: string }> = {
  architect: (_turn, text) =>
    text.includes('final report') ? 'Done.' : JSON.stringify({ summary: 'Change', tasks, no_change_reason: null }),
  developer: (turn, text) => {
    const place = /<scope>\n(packages\/p\d+)/.exec(text)?.[1] ?? ''
    return turn === 1
      ? { file_path: `${place}/new.ts`, content: 'export {}\n' }
      : '{"status":"completed","summary":"Done."}'
  },
  reviewer: () => '{"verdict":"approved","summary":"Good.","findings":[]}',
}

const model: Model = {
  name: 'instant',
  async *stream({ session, messages }) {
    const turn = messages.filter(({ role }) => role === 'assistant').length + 1
    const reply = replies[session.agent]?.(turn, JSON.stringify(messages[0]?.content).replaceAll('\\n', '\n')) ?? ''
    const isText = typeof reply === 'string'
    if (isText) yield { type: 'text', text: reply }
    else yield { type: 'tool-call', id: 'c1', name: 'Write', input: reply }
    const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }
    yield { type: 'finish', stop: isText ? 'end' : 'tool_calls', usage }
  },
}

/** Milliseconds by part, in order. */
type Figures = Map<string, number>

function useGitAlone(round: number): Figures {
  const places = Array.from({ length: DEVELOPERS + 1 }, (_, index) => join(folder, `bare-${round}-${index}`))
  const start = performance.now()
  for (const [index, place] of places.entries())
    git('worktree', 'add', '--quiet', '-b', `bare-${round}-${index}`, place)
  const added = performance.now()
  for (const place of places) git('worktree', 'remove', '--force', place)
  const removed = performance.now()
  return new Map([
    [`git worktree add, ${places.length} times`, added - start],
    [`git worktree remove, ${places.length} times`, removed - added],
    [GIT_ALONE, removed - start],
  ])
}

async function build(round: number): Promise<Figures> {
  const troupe = await createTroupe({
    ...{ model, store: join(folder, `store-${round}`), config: false, workspace: { workspace: top } },
    build: { max_parallel: DEVELOPERS },
  })
  const start = performance.now()
  const { status, run_id } = await troupe.run('build', { request: 'Change four packages.' })
  const total = performance.now() - start
  if (status !== 'completed') throw new Error(`the build ended as ${status}`)
  const events = await troupe.events(run_id).all()
  await troupe.close()
  const phases = events.flatMap(({ type, at, data }) =>
    type === ('build:phase' as string) ? [{ at, phase: (data as unknown as { phase: string }).phase }] : [],
  )
  const first = events[0]?.at ?? 0
  const last = events.at(-1)?.at ?? 0
  return new Map([
    ['open the repository', (phases[0]?.at ?? last) - first],
    ...phases.map(({ phase, at }, index): [string, number] => [phase, (phases[index + 1]?.at ?? last) - at]),
    [WHOLE_BUILD, total],
  ])
}

const GIT_ALONE = 'git alone'
const WHOLE_BUILD = 'a whole build'

const rounds: Figures[] = []
for (let round = 1; round <= ROUNDS; round += 1) rounds.push(new Map([...useGitAlone(round), ...(await build(round))]))
rmSync(folder, { recursive: true, force: true })

const median = (label: string) => {
  const sorted = rounds.map((figures) => figures.get(label) ?? 0).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
console.log(
  `${FILES} files, ${DEVELOPERS} developers, a model that answers at once, no checks; median and range of ${ROUNDS}`,
)
for (const label of rounds[0]?.keys() ?? []) {
  const values = rounds.map((figures) => figures.get(label) ?? 0)
  const range = `${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)}`
  console.log(`${label.padEnd(32)} ${median(label).toFixed(0).padStart(7)} ms  ${range}`)
}
const [whole, alone] = [median(WHOLE_BUILD), median(GIT_ALONE)]
console.log(`target ${AIM_MS} ms: ${whole <= AIM_MS ? 'ok' : 'MISS'}; ${(whole / alone).toFixed(1)}× git alone`)
