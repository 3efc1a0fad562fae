import type { inputOf, limitsOf, Parts } from '../compose.ts'
import { unknownName } from '../errors.ts'
import type { RunStart } from '../kernel/event.ts'
import type { RunOptions } from './run.ts'

/** What is loaded late, handed in: schemas are most of what there is to load. */
interface Checks {
  inputOf: typeof inputOf
  limitsOf: typeof limitsOf
}

/** The first event of a run, or why there can be none: nothing is written before the input is known to fit. */
export function startOf(
  { patterns, ports, project, limits, policy }: Parts,
  { name, input, run }: { name: string; input: unknown; run: RunOptions },
  checks: Checks,
): RunStart {
  const pattern = patterns.find((candidate) => candidate.name === name)
  const known = patterns.map((candidate) => candidate.name)
  if (!pattern) throw unknownName('unknown_pattern', 'pattern', name, known)
  const checked = checks.inputOf(pattern, input)
  pattern.check?.(ports.roster, checked as never)
  return {
    format: 1,
    project,
    pattern: name,
    version: pattern.version,
    input: checked,
    limits: checks.limitsOf(limits, run.limits),
    ...(run.model === undefined ? undefined : { model: run.model }),
    ...(ports.workspace === undefined ? undefined : { workspace: ports.workspace }),
    ...(Object.keys(policy).length === 0 ? undefined : { permissions: policy }),
  }
}
