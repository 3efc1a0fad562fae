import { posix } from 'node:path'
import type { SourceFile } from '../support/source-file.ts'
import type { Import } from './imports.ts'
import { importsIn } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

const adapters = ['models', 'tools', 'performers', 'store', 'engine', 'knowledge', 'formats']
const core = ['errors', 'schema', 'judgement', 'kernel', 'run-model', 'requests', 'patterns', ...adapters]

/** Zones that each zone may import. A zone may import itself, except that a pattern must not import another pattern. */
const allowedImports: Record<string, readonly string[]> = {
  errors: [],
  schema: ['errors'],
  judgement: ['errors', 'schema'],
  kernel: ['errors', 'schema'],
  'run-model': ['errors', 'schema', 'kernel'],
  requests: ['errors', 'schema', 'kernel'],
  // Their views use the pattern-neutral ones, never the other way round.
  patterns: ['errors', 'schema', 'kernel', 'judgement', 'requests', 'run-model', 'views'],
  ...Object.fromEntries(adapters.map((adapter) => [adapter, ['errors', 'schema', 'kernel']])),
  engine: ['errors', 'schema', 'judgement', 'kernel', 'run-model', 'store'],
  performers: ['errors', 'schema', 'kernel', 'requests'],
  models: ['errors', 'schema', 'kernel', 'judgement', 'requests'],
  tools: ['errors', 'schema', 'kernel', 'judgement'],
  formats: ['errors', 'schema', 'kernel', 'judgement'],
  knowledge: ['errors', 'schema', 'kernel', 'judgement', 'store'],
  audit: ['errors', 'schema', 'kernel'],
  views: ['errors', 'schema', 'judgement', 'kernel', 'run-model'],
  runtime: [...core, 'audit', 'views'],
  index: [...core, 'audit', 'views', 'runtime'],
  entries: [...core, 'audit', 'views', 'runtime'],
  testing: [...core, 'audit', 'views', 'runtime', 'index'],
  surfaces: ['errors', 'schema', 'judgement', 'formats', 'views', 'runtime', 'index', 'entries'],
}

/**
 * The files of the runtime that surfaces import, each with the reason why what they take from it is no part of the public API. The rest of the
 * runtime holds the store and the engine: surfaces use them through the public API.
 */
export const allowedRuntimeFiles: Readonly<Record<string, string>> = {
  'node-version':
    'the command line checks Node before it loads the public API, which an older Node cannot run; `createTroupe` does the same for programs',
  'built-in-patterns':
    'commands and flags are made from the patterns before a store is opened; programs have `troupe.patterns()`',
  troupe:
    'commands that execute a run load `createTroupe` alone; what else the public API exports, such as readers of journals, is a tenth of the files',
  'parse-run-metadata':
    'the limits of a handler are checked when it is made, by the parser of `createTroupe`; programs have `createTroupe({ limits })`',
  'tool-ports':
    'the machine of the person at the terminal, without a troupe: its sandbox, its programs, worktrees that runs left; `createTroupe({ workspace })` does the same for programs',
}

export function importBoundaryViolations(
  files: readonly SourceFile[],
  allowed: Readonly<Record<string, string>> = {},
): Violation[] {
  const production = files.filter((file) => !isTestFile(file.path))
  const unplaced = production
    .filter((file) => !(zoneFrom(file.path) in allowedImports))
    .map((file) => ({ rule: 'layout', path: file.path, line: 1, message: 'is in no known folder of src' }))
  const known = new Set(files.map((file) => file.path))
  const edges = production.flatMap(importsIn)
  const forbidden = edges.flatMap((edge) => {
    const message = findProblem(edge, known) ?? runtimeProblem(edge, allowed)
    return message ? [{ rule: 'import-boundary', path: edge.from, line: edge.line, message }] : []
  })
  const stale = Object.keys(allowed)
    .filter((name) => !edges.some((edge) => runtimeFileForSurface(edge) === name))
    .map((name) => {
      const message = `no surface imports src/runtime/${name}.ts; remove it from the list`
      return { rule: 'import-boundary', path: 'test/architecture/import-boundaries.ts', line: 1, message }
    })
  return [...unplaced, ...forbidden, ...stale]
}

/** The file of the runtime that a surface imports. */
function runtimeFileForSurface({ from, target }: Import): string | undefined {
  return zoneFrom(from) === 'surfaces' && target !== undefined && zoneFrom(target) === 'runtime'
    ? partFrom(target)
    : undefined
}

function runtimeProblem(edge: Import, allowed: Readonly<Record<string, string>>): string | undefined {
  const name = runtimeFileForSurface(edge)
  if (name === undefined || allowed[name]?.trim()) return undefined
  return `surfaces use the public API, not the runtime (${edge.target}); a file that they need beside it is listed with a reason`
}

function findProblem(edge: Import, known: ReadonlySet<string>): string | undefined {
  const { from, target, specifier } = edge
  if (/^zod(\/|$)/.test(specifier) && from !== 'src/schema/zod.ts') {
    return `imports ${specifier}; use src/schema/zod.ts, which the build bundles`
  }
  if (target === undefined) return undefined
  // Data of the importing folder; the type checker finds a file that does not exist.
  if (target.endsWith('.json') && posix.dirname(target) === posix.dirname(from)) return undefined
  if (!known.has(target)) return `imports ${target}, which is not in src`
  if (isTestFile(target)) return `imports the test file ${target}`
  const [importer, imported] = [zoneFrom(from), zoneFrom(target)]
  if (importer === imported) return findProblemWithinZone(importer, edge, target)
  if (isChatOfTeam(from, target) || isPartOfPattern(from, target)) return undefined
  if (!allowedImports[importer]?.includes(imported)) return `${importer} may not import ${imported} (${target})`
  return undefined
}

function findProblemWithinZone(zone: string, { from }: Import, target: string): string | undefined {
  const [ownPart, otherPart] = [partFrom(from), partFrom(target)]
  if (ownPart === otherPart) return undefined
  if (zone === 'patterns') return `pattern ${ownPart} may not import pattern ${otherPart}`
  if (zone === 'surfaces' && ownPart !== 'cli') return `surface ${ownPart} may not import surface ${otherPart}`
  return undefined
}

/** `chat` is the surface of one pattern and shows its view. */
function isChatOfTeam(from: string, target: string): boolean {
  return (
    from.startsWith('src/surfaces/cli/chat/') &&
    /^src\/patterns\/team\/(chat-event|team-view|transcript|view)\.ts$/.test(target)
  )
}

/** Files in which a room says what it takes from patterns, or provides to them: the kernel passes these parts on (`PatternPart`). */
const PATTERN_PARTS = new Set([
  'src/formats/project-profile/project-profile.ts',
  'src/store/tables/projection.ts',
  'src/tools/git/repository.ts',
  'src/tools/sandbox/command-runner.ts',
])

function isPartOfPattern(from: string, target: string): boolean {
  return zoneFrom(from) === 'patterns' && PATTERN_PARTS.has(target)
}

/** `src/kernel/event.ts` belongs to the zone `kernel`, `src/errors.ts` to the zone `errors`. */
function zoneFrom(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '')
}

function partFrom(path: string): string {
  return (path.split('/')[2] ?? '').replace(/\.ts$/, '')
}
