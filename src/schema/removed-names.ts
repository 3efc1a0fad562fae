import { TroupeError } from '../errors.ts'

/*
 * Names of earlier releases, each with what to use instead: options by the end of their path (`*`: any name), flags by their name alone or after their command,
 * chat commands with their slash, exports after the module. The errors for unknown names look here; nothing else knows these names.
 */
export const REMOVED_NAMES: Readonly<Record<string, string>> = {
  'troupe loops': 'loops are found while a run executes: troupe show RUN lists them',
  'team graph --ascii': 'the locale decides: set LC_ALL=C for ASCII characters',
  'doctor --run': 'check the journal of a run with: troupe verify RUN',
  'team pause': 'steer a running team with: troupe steer RUN pause',
  'team step': 'steer a running team with: troupe steer RUN step',
  'team continue': 'steer a running team with: troupe steer RUN continue',
  'team next': 'steer a running team with: troupe steer RUN next AGENT',
  'team set': 'steer a running team with: troupe steer RUN set NAME=VALUE',
  'team say': 'steer a running team with: troupe steer RUN say TEXT',
  '--lend': 'use --expose-env',
  '--solo-first': 'ask one agent with `troupe run task`, and others only if its answer is not enough',

  '/vars': 'the changes of variables are in: troupe show RUN --events',
  '/graph': 'draw the team with: troupe team graph FILE',
  '/artifacts': 'list artifacts with: troupe artifacts RUN',
  '/who': 'list agents and handoffs with: troupe team graph FILE; turns with: troupe show RUN',

  solo_first: 'ask one agent with the pattern `task`, and others only if its answer is not enough',
  overlapping_scopes: 'a task whose scope overlaps that of an earlier one always starts after it',
  'consult.routing': 'the orchestrator chooses; give `consult.scenarios` a `primary` agent',
  'consult.scenarios.*.keywords': 'the orchestrator chooses by the `description` of a scenario',
  'consult.scenarios.*.threshold': 'the orchestrator chooses by the `description` of a scenario',
  'consult.knowledge': 'every consultation asks a model; similar earlier ones are part of what the specialist reads',
  'workspace.ripgrep: false': 'searches use ripgrep; leave it out, or give the path of a program',
  'view.progress': 'return marks from `timeline` of the view: a terminal prints a line for each',
  'view.lines': 'return blocks from `panels` of the view: a terminal draws them, too',
  'engine.create': 'the embedded engine executes runs; `engine.concurrency` says how many at once',

  'troupe/testing MemoryStore': "pass the option `store: 'memory'`",
  'troupe/testing engineContract': 'there is one engine; nothing replaces the suite',
}

/** The replacement of a removed name: the path of an option, a flag after its command, or an export after its module. */
export function removedNameHint(name: string): string | undefined {
  const found = Object.keys(REMOVED_NAMES).find((key) =>
    new RegExp(`(^|[. ])${key.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`).test(name),
  )
  return found === undefined ? undefined : `it was removed: ${REMOVED_NAMES[found]}`
}

/** Throws `invalid_input` for a key that was removed. `path` is that of the object in the list above. */
export function rejectRemovedKeys(value: object, path: string, place: string): void {
  for (const key of Object.keys(value)) {
    const hint = removedNameHint(`${path}.${key}`)
    if (hint !== undefined) throw new TroupeError('invalid_input', `unknown key '${key}' in ${place}`, { hint })
  }
}
