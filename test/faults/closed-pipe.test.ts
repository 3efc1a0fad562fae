import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))

test.each(['2>&1 | head -1', '2>/dev/null | true', '--json 2>&1 | true'])(
  'L89 a run ends although its reader is gone: %s',
  async (pipe) => {
    const fixture = await createCliFixture()
    const model = await fixture.script('script.json', [
      { when: { turn: 1 }, reply: { toolCalls: [{ name: 'Glob', input: { pattern: '*.none' } }], delayMs: 500 } },
      { reply: { text: 'done', delayMs: 500 } },
    ])
    const line = `"${process.execPath}" "${MAIN}" run task go --model "${model}" ${pipe}; echo "code \${PIPESTATUS[0]}"`
    const { stdout } = spawnSync('bash', ['-c', line], { cwd: fixture.folder, encoding: 'utf8' })
    expect(stdout).toContain('code 0')
    const { out } = await fixture.troupe('runs', '--json')
    expect(out).toContain('"completed"')
  },
)
