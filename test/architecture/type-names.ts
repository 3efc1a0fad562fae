import type { SourceFile } from '../support/source-file.ts'
import type { TypeDeclaration } from './type-declarations.ts'
import { typesIn } from './type-declarations.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

export function siteTypes(files: readonly SourceFile[]): TypeDeclaration[] {
  return files
    .filter((file) => !isTestFile(file.path))
    .flatMap(typesIn)
    .filter(({ name }) => name.endsWith('Site'))
}

export function typeNameViolations(files: readonly SourceFile[]): Violation[] {
  return siteTypes(files).map(({ name, path, line }) => ({
    rule: 'site-type',
    path,
    line,
    message: `${name}: avoid the suffix Site; name the type …Context, …Scope or …Deps`,
  }))
}
