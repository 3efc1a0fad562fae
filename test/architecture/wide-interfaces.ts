import type { SourceFile } from '../support/source-file.ts'
import type { TypeDeclaration } from './type-declarations.ts'
import { typesIn } from './type-declarations.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

export const maxMembers = 12

/** Interfaces that may be wide, by name, each with the reason. */
export const allowedWideInterfaces: Readonly<Record<string, string>> = {
  AccountRow: 'record: one member per recorded value of a model request',
  Agent: 'format: the fields of an agent file',
  BuildProgress: 'view: everything that is shown of one build',
  CommonOptions: 'format: one member per command-line flag',
  ContributionView: 'view: everything that is shown of one answer',
  EventData: 'map: one member per event type',
  PatternDefinition: 'format: the fields of a pattern, most of them optional hooks',
  SubAgentSession: 'format: the fields of session files, as the specification names them',
  RunRow: 'record: one member per column',
  RunStart: 'record: the payload of run:start, fixed by recorded journals',
  SessionRow: 'record: one member per column',
  TimelineRun: 'view: everything that is shown of a run at a glance',
  TimelineSession: 'view: one member per column of the row of a session',
  TimelineTurn: 'view: one member per column of the row of a turn',
  SessionNode: 'view: everything that is shown of one session',
  Troupe: 'public API: one method per operation on a run',
  TroupeOptions: 'public API: one member per part that can be configured',
}

export function wideInterfaces(files: readonly SourceFile[]): TypeDeclaration[] {
  return files
    .filter((file) => !isTestFile(file.path))
    .flatMap(typesIn)
    .filter(({ members }) => members > maxMembers)
    .sort((a, b) => b.members - a.members)
}

/** Reports wide interfaces that are not allowed, and stale entries of the list of allowed names. */
export function wideInterfaceViolations(
  files: readonly SourceFile[],
  allowed: Readonly<Record<string, string>>,
): Violation[] {
  const wide = wideInterfaces(files)
  const names = new Set(wide.map(({ name }) => name))
  const grown = wide
    .filter(({ name }) => !Object.hasOwn(allowed, name))
    .map(({ name, path, line, members }) => {
      const message = `${name} has ${members} members, more than ${maxMembers}; split it, or allow it with a reason`
      return { rule: 'wide-interface', path, line, message }
    })
  const stale = Object.keys(allowed)
    .filter((name) => !names.has(name))
    .map((name) => {
      const message = `${name} has at most ${maxMembers} members now; remove it from the list`
      return { rule: 'wide-interface', path: 'test/architecture/wide-interfaces.ts', line: 1, message }
    })
  return [...grown, ...stale]
}
