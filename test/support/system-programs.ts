import { readFileSync } from 'node:fs'
import { describeSandbox } from '../../src/tools/sandbox/describe-sandbox.ts'
import { findProgram } from '../../src/tools/search/ripgrep.ts'

/* Programs of the machine that some tests need: the list of `.ci/programs`, each with its Debian package. */

const PROGRAMS = readFileSync(new URL('../../.ci/programs', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(' '))

/** Reasons why tests are skipped here: missing programs, or a machine that forbids the sandbox. */
export function environmentProblems(): string[] {
  const missing = PROGRAMS.filter(([program = '']) => findProgram(program) === undefined)
  if (missing.length === 0) return describeSandbox({ network: true }).problems
  const names = missing.map(([program]) => program).join(', ')
  return [`missing programs: ${names} (on Debian: apt-get install ${missing.map(([, name]) => name).join(' ')})`]
}
