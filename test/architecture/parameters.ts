import type { SourceFile } from '../support/source-file.ts'
import type { FunctionShape } from './functions.ts'
import { functionsIn } from './functions.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

export const maxParameters = 3

export function functionsWithManyParameters(files: readonly SourceFile[]): FunctionShape[] {
  return files
    .filter((file) => !isTestFile(file.path))
    .flatMap(functionsIn)
    .filter(({ parameters }) => parameters > maxParameters)
}

export function parameterViolations(files: readonly SourceFile[]): Violation[] {
  return functionsWithManyParameters(files).map(({ name, path, line, parameters }) => ({
    rule: 'parameters',
    path,
    line,
    message: `${name ?? 'a function'} has ${parameters} positional parameters, more than ${maxParameters}; pass an object`,
  }))
}
