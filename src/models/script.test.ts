import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TroupeError } from '../errors.ts'
import { loadScript, parseScript, scriptedModel } from './scripted.ts'

describe('scripts from text', () => {
  test('M17 a valid script is parsed, even with a byte order mark', () => {
    const text = `\uFEFF{"rules":[{"when":{"agent":"a","turn":1,"says":"x","tool":"t"},"reply":{"text":"t","toolCalls":
      [{"name":"n","input":{}}],"delayMs":5},"usage":{"input":1,"output":2},"times":3},
      {"reply":{"object":{"a":1}}},{"reply":{"error":{"status":500,"message":"m"}}}],"otherwise":{"text":"o"}}`
    expect(parseScript(text, 'demo.json')).toEqual(JSON.parse(text.slice(1)))
  })

  const rule = (inner: string) => `{"rules":[{"reply":{"text":"a"}},${inner}]}`
  test.each<[string, string, RegExp]>([
    ['text that is not JSON', '{"rules":[', /^script demo\.json: not JSON: .*JSON/],
    ['an array', '[]', /expected object, received array/],
    ['missing rules', '{}', /^script demo\.json: rules: .*expected array/],
    ['an unknown key', '{"rules":[],"otherwize":"error"}', /unknown key 'otherwize'; did you mean 'otherwise'\?/],
    [
      'an unknown condition',
      rule('{"when":{"sais":"x"},"reply":{"text":"x"}}'),
      /rules\[1\]\.when: unknown key 'sais'; did you mean 'says'/,
    ],
    ['an unknown reply', rule('{"reply":{"txt":"x"}}'), /rules\[1\]\.reply: unknown key 'txt'; did you mean 'text'/],
    [
      'an unknown rule key',
      rule('{"reply":{"text":"x"},"time":1}'),
      /rules\[1\]: unknown key 'time'; did you mean 'times'/,
    ],
    [
      'an unknown key of a tool call',
      rule('{"reply":{"toolCalls":[{"name":"a","args":{}}]}}'),
      /rules\[1\]\.reply\.toolCalls\[0\]: unknown key 'args'/,
    ],
    ['a missing tool input', rule('{"reply":{"toolCalls":[{"name":"a"}]}}'), /toolCalls\[0\]\.input: is missing/],
    [
      'an invalid regular expression',
      rule('{"when":{"says":"(["},"reply":{"text":"x"}}'),
      /rules\[1\]\.when\.says: not a regular expression: /,
    ],
    ['a turn of zero', rule('{"when":{"turn":0},"reply":{"text":"x"}}'), /rules\[1\]\.when\.turn: /],
    ['fractional times', rule('{"reply":{"text":"x"},"times":0.5}'), /rules\[1\]\.times: /],
    ['a missing reply', rule('{"when":{}}'), /rules\[1\]\.reply: /],
    ['an empty reply', rule('{"reply":{"delayMs":1}}'), /rules\[1\]\.reply: is empty; set one of text/],
    ['text and object', rule('{"reply":{"text":"x","object":{}}}'), /both text and object/],
    ['cut and error', rule('{"reply":{"cut":true,"error":{"status":500,"message":"m"}}}'), /both cut and error/],
    ['cut and stop', rule('{"reply":{"text":"x","cut":true,"stop":"length"}}'), /stop together with cut or error/],
    ['a status of 42', rule('{"reply":{"error":{"status":42,"message":"m"}}}'), /reply\.error\.status: /],
    ['an incomplete usage', rule('{"reply":{"text":"x"},"usage":{"input":1}}'), /rules\[1\]\.usage\.output: /],
    ['a too long delay', rule('{"reply":{"text":"x","delayMs":3e9}}'), /rules\[1\]\.reply\.delayMs: /],
    ['an unknown otherwise', '{"rules":[],"otherwise":"fail"}', /otherwise: must be "error" or a reply/],
    [
      'an unknown key in otherwise',
      '{"rules":[],"otherwise":{"txt":"x"}}',
      /otherwise: unknown key 'txt'; did you mean 'text'/,
    ],
    ['an empty otherwise', '{"rules":[],"otherwise":{}}', /otherwise: is empty/],
  ])('M17 %s is rejected with its path', (_, text, problem) => {
    const error = catchError(() => parseScript(text, 'demo.json'))
    expect(error).toMatchObject({ code: 'invalid_script', hint: expect.stringContaining('"rules"') })
    expect(error.message).toMatch(/^script demo\.json: /)
    expect(error.message).toMatch(problem)
  })

  test('M17 a script object is validated too', () => {
    const script = { rules: [{ when: { says: '(' }, reply: { text: 'x' } }] }
    expect(catchError(() => scriptedModel(script, { name: 'mine' })).message).toMatch(
      /^script mine: rules\[0\]\.when\.says/,
    )
  })

  test('M17 a script file is loaded, and a missing one is reported by name', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-script-'))
    try {
      const path = join(folder, 'script.json')
      await writeFile(path, '{"rules":[]}')
      expect(await loadScript(path)).toEqual({ rules: [] })
      const missing = await loadScript(join(folder, 'none.json')).catch((error: unknown) => error)
      expect(missing).toMatchObject({ code: 'invalid_script', message: expect.stringContaining('none.json') })
      await expect(loadScript(folder)).rejects.toMatchObject({ code: 'invalid_script' })
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

function catchError(act: () => unknown): TroupeError {
  try {
    act()
  } catch (error) {
    if (error instanceof TroupeError) return error
  }
  throw new Error('no TroupeError was thrown')
}
