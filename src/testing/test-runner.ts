/** `describe` and `test` of any test runner, so that the contract suites depend on none. */
export interface TestRunner {
  describe(title: string, define: () => void): void
  test(title: string, run: () => Promise<void>): void
}
