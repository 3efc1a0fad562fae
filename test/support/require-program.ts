import { TestRunner } from 'vitest'
import { describeSandbox } from '../../src/tools/sandbox/describe-sandbox.ts'
import { findProgram } from '../../src/tools/search/ripgrep.ts'

/*
 * A test without the program it needs is skipped, and the summary names it with the reason. With `REQUIRE_PROGRAMS=1`, which
 * `.ci/run` sets, it fails instead: no skipped test hides in CI.
 */

/** Skips the current test if the program is missing. */
export function requireProgram(program: string): void {
  if (findProgram(program) === undefined) skipTest(`${program} is missing`)
}

let sandboxProblems: readonly string[] | undefined

/** Skips the current test if commands cannot be sandboxed here. */
export function requireSandbox(): void {
  sandboxProblems ??= describeSandbox({ network: true }).problems
  if (sandboxProblems.length > 0) skipTest(sandboxProblems.join('; '))
}

function skipTest(reason: string): void {
  const current = TestRunner.getCurrentTest()
  if (!current || process.env.REQUIRE_PROGRAMS === '1') throw new Error(`this test cannot run here: ${reason}`)
  current.context.skip(reason)
}
