import type { SourceFile } from '../source-file.ts'
import { arrowViolations } from './arrows.ts'
import { cycleViolations } from './cycles.ts'
import { exportViolations } from './exports.ts'
import { heavyImportViolations } from './heavy-imports.ts'
import { hiddenWorldViolations } from './hidden-world.ts'
import { nameViolations } from './names.ts'
import { sizeViolations } from './size.ts'
import type { Violation } from './violation.ts'

const rules = [
  arrowViolations,
  cycleViolations,
  exportViolations,
  heavyImportViolations,
  hiddenWorldViolations,
  nameViolations,
  sizeViolations,
]

export function architectureViolations(files: readonly SourceFile[]): Violation[] {
  return rules.flatMap((rule) => rule(files))
}
