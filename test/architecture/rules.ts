import type { SourceFile } from '../support/source-file.ts'
import { ambientStateViolations } from './ambient-state.ts'
import { cycleViolations } from './cycles.ts'
import { databaseFileViolations } from './database-files.ts'
import { duplicateExportViolations } from './duplicates.ts'
import { errorTextViolations } from './error-texts.ts'
import { exportViolations } from './exports.ts'
import { heavyImportViolations } from './heavy-imports.ts'
import { importBoundaryViolations } from './import-boundaries.ts'
import { nameViolations } from './names.ts'
import { parameterViolations } from './parameters.ts'
import { participleViolations } from './participles.ts'
import type { AllowedMention } from './pattern-mentions.ts'
import { patternMentionViolations } from './pattern-mentions.ts'
import { sizeViolations } from './size.ts'
import { typeNameViolations } from './type-names.ts'
import { unexplainedViolations } from './unexplained.ts'
import type { Violation } from './violation.ts'
import { wideInterfaceViolations } from './wide-interfaces.ts'

const rules = [
  ambientStateViolations,
  cycleViolations,
  duplicateExportViolations,
  exportViolations,
  heavyImportViolations,
  nameViolations,
  parameterViolations,
  participleViolations,
  sizeViolations,
  typeNameViolations,
  unexplainedViolations,
]

/** What may break a rule, by file or name, each with the reason. */
export type Exceptions = {
  wideInterfaces?: Readonly<Record<string, string>>
  databaseWriters?: Readonly<Record<string, string>>
  errorTexts?: Readonly<Record<string, string>>
  patternMentions?: readonly AllowedMention[]
  runtimeFiles?: Readonly<Record<string, string>>
}

export function architectureViolations(
  files: readonly SourceFile[],
  {
    wideInterfaces = {},
    databaseWriters = {},
    errorTexts = {},
    patternMentions = [],
    runtimeFiles = {},
  }: Exceptions = {},
): Violation[] {
  return [
    ...rules.flatMap((rule) => rule(files)),
    ...importBoundaryViolations(files, runtimeFiles),
    ...wideInterfaceViolations(files, wideInterfaces),
    ...databaseFileViolations(files, databaseWriters),
    ...errorTextViolations(files, errorTexts),
    ...patternMentionViolations(files, patternMentions),
  ]
}
