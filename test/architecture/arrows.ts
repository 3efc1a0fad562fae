import type { SourceFile } from '../support/source-file.ts'
import type { Import } from './imports.ts'
import { importsOf } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

const adapters = ['models', 'tools', 'performers', 'store', 'engine', 'knowledge', 'formats']
const inside = ['errors', 'judgement', 'kernel', 'patterns', ...adapters]

/** Which zones a zone may import. Its own zone is always allowed, except that a pattern never sees another. */
const arrows: Record<string, readonly string[]> = {
  errors: [],
  judgement: ['errors'],
  kernel: ['errors'],
  patterns: ['errors', 'kernel', 'judgement'],
  ...Object.fromEntries(adapters.map((adapter) => [adapter, ['errors', 'kernel']])),
  engine: ['errors', 'kernel', 'store'],
  tools: ['errors', 'kernel', 'judgement'],
  formats: ['errors', 'kernel', 'judgement'],
  knowledge: ['errors', 'kernel', 'store'],
  audit: ['errors', 'kernel'],
  views: ['errors', 'judgement', 'kernel'],
  runtime: [...inside, 'audit', 'views'],
  index: [...inside, 'audit', 'views', 'runtime'],
  testing: [...inside, 'audit', 'views', 'runtime', 'index'],
  surfaces: ['errors', 'judgement', 'kernel', 'formats', 'views', 'runtime', 'index'],
}

export function arrowViolations(files: readonly SourceFile[]): Violation[] {
  const production = files.filter((file) => !isTestFile(file.path))
  const homeless = production
    .filter((file) => !(zoneOf(file.path) in arrows))
    .map((file) => ({ rule: 'layout', path: file.path, line: 1, message: 'has no place in the layout' }))
  const known = new Set(files.map((file) => file.path))
  const crossings = production.flatMap(importsOf).flatMap((edge) => {
    const message = complaint(edge, known)
    return message ? [{ rule: 'arrows', path: edge.from, line: edge.line, message }] : []
  })
  return [...homeless, ...crossings]
}

function complaint(edge: Import, known: ReadonlySet<string>): string | undefined {
  const { from, target } = edge
  if (target === undefined) return undefined
  if (!known.has(target)) return `imports ${target}, which is not in src`
  if (isTestFile(target)) return `imports the test file ${target}`
  const [here, there] = [zoneOf(from), zoneOf(target)]
  if (here === there) return withinZone(here, edge, target)
  if (!arrows[here]?.includes(there)) return `${here} may not import ${there} (${target})`
  if (here === 'surfaces' && there === 'kernel' && edge.kind !== 'type') {
    return `surfaces take only types from kernel (${target})`
  }
  return undefined
}

function withinZone(zone: string, { from }: Import, target: string): string | undefined {
  const [mine, other] = [partOf(from), partOf(target)]
  if (mine === other) return undefined
  if (zone === 'patterns') return `pattern ${mine} may not import pattern ${other}`
  if (zone === 'surfaces' && mine !== 'cli') return `surface ${mine} may not import surface ${other}`
  return undefined
}

/** `src/kernel/step.ts` is in zone kernel; `src/errors.ts` is the zone errors. */
function zoneOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '')
}

function partOf(path: string): string {
  return (path.split('/')[2] ?? '').replace(/\.ts$/, '')
}
