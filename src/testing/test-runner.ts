/** `{ describe, test }` of the test runner at hand, so that a contract suite needs none of its own. */
export interface TestRunner {
  describe(title: string, define: () => void): void
  test(title: string, run: () => Promise<void>): void
}
