export type Violation = { rule: string; path: string; line: number; message: string }

export function isTestFile(path: string): boolean {
  return path.endsWith('.test.ts')
}

export function describeViolation({ rule, path, line, message }: Violation): string {
  return `${path}:${line} [${rule}] ${message}`
}
