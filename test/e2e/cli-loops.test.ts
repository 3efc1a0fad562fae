import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TRACE = 'test/fixtures/loops/traces/45.json'

function troupe(...args: string[]) {
  return spawnSync(process.execPath, ['src/surfaces/cli/main.ts', ...args], { cwd: ROOT, encoding: 'utf8' })
}

test('LP13 troupe loops prints findings with positions, and JSON', () => {
  const text = troupe('loops', TRACE)
  expect(text).toMatchObject({ status: 0, stderr: '' })
  expect(text.stdout).toMatch(/^ +\d+ {2}repeated work {2}Orchestrator: .*\(as at \d+/m)
  const { findings, messages } = JSON.parse(troupe('loops', TRACE, '--json').stdout)
  expect(messages).toBeGreaterThan(10)
  expect(findings[0]).toMatchObject({ kind: expect.any(String), at: expect.any(Number), evidence: expect.any(Array) })
})

test('LP14 a wrong file is a usage error with a hint', () => {
  const { status, stderr } = troupe('loops', 'package-lock.json')
  expect(status).toBe(2)
  // The error wraps in a narrow terminal.
  expect(stderr.replace(/\s+/g, ' ')).toContain('has no messages')
})

test('LP8 the measurement runs on the labelled traces of the repository', () => {
  const output = execFileSync(process.execPath, ['bench/loops.ts', 'test/fixtures/loops'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(output).toMatch(/^3 runs, 17 decisions, 3 labelled/)
  const [, f1] = /repeated work, as shipped +\S+ +\S+ +(\S+)/.exec(output) ?? []
  expect(Number(f1)).toBeGreaterThan(0.5)
  // Thresholds are chosen on one half of the runs and measured on the other, both ways.
  const halves = [...output.matchAll(/^Held out: .*Chosen on the rest: similarInstruction .*\n(\d) runs/gm)]
  expect(halves.map(([, size]) => size)).toEqual(['1', '2'])
  expect(output.match(/^repeated work, tuned on the rest +\d\.\d{3} /gm)).toHaveLength(2)
  expect(output.match(/^fifth decision and later /gm)).toHaveLength(3)
})
