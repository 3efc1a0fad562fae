import { unknownNameError } from '../errors.ts'
import type { RunStart } from '../kernel/event.ts'
import type { parseLimits, parsePatternInput, RuntimeParts } from './compose.ts'
import type { RunOptions } from './run-handle.ts'

/** What is loaded late, handed in: schemas are most of what there is to load. */
interface InputParsers {
  parsePatternInput: typeof parsePatternInput
  parseLimits: typeof parseLimits
}

/** The first event of a run, or why there can be none: nothing is written before the input is known to fit. */
export function runStartFrom(
  { patterns, ports, project, limits, policy }: RuntimeParts,
  { name, input, run }: { name: string; input: unknown; run: RunOptions },
  checks: InputParsers,
): RunStart {
  const pattern = patterns.find((candidate) => candidate.name === name)
  const known = patterns.map((candidate) => candidate.name)
  if (!pattern) throw unknownNameError('unknown_pattern', { kind: 'pattern', name, known })
  const checked = checks.parsePatternInput(pattern, input)
  pattern.check?.(ports.roster, checked as never)
  return {
    format: 1,
    project,
    pattern: name,
    version: pattern.version,
    input: checked,
    limits: checks.parseLimits(limits, run.limits),
    ...(run.model === undefined ? undefined : { model: run.model }),
    ...(ports.workspace === undefined ? undefined : { workspace: ports.workspace }),
    ...(Object.keys(policy).length === 0 ? undefined : { permissions: policy }),
  }
}
