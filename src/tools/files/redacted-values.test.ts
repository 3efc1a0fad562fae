import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { redact } from '../../judgement/redaction/redaction.ts'

const CONFIG = 'host: db.example\npassword: correct-horse-7\nport: 5432\n'

/** A file that the agent has read; `shown` is what it saw. */
async function readConfig() {
  const fixture = createToolWorkspace({ sandbox: 'none' })
  onTestFinished(() => fixture[Symbol.dispose]())
  fixture.writeFile('config.yaml', CONFIG)
  const { text } = await fixture.call('Read', { file_path: 'config.yaml' })
  expect(redact(text)).toContain('password: [redacted: secret]')
  const content = () => readFileSync(join(fixture.workspace, 'config.yaml'), 'utf8')
  return { fixture, content, shown: redact(CONFIG) }
}

test('TO87 Write does not replace a value by its placeholder', async () => {
  const { fixture, content, shown } = await readConfig()
  const changed = shown.replace('5432', '6432')
  const result = await fixture.call('Write', { file_path: 'config.yaml', content: changed })
  expect(result.text).toMatch(/would write \[redacted: secret\] into 'config.yaml'.*would be lost[\s\S]*use Edit/)
  expect(content()).toBe(CONFIG)
})

test('TO87 Edit refuses a placeholder in either text, and edits around the value', async () => {
  const { fixture, content } = await readConfig()
  const edit = (old_string: string, new_string: string) =>
    fixture.call('Edit', { file_path: 'config.yaml', old_string, new_string })
  const quoted = await edit('password: [redacted: secret]\nport: 5432', 'password: [redacted: secret]\nport: 6432')
  expect(quoted.text).toMatch(/it has \[redacted: secret\], which stands for a value[\s\S]*leave out the value/)
  const inserted = await edit('port: 5432', 'port: 6432\ntoken: [redacted: secret]')
  expect(inserted.text).toContain('would be lost')
  expect(content()).toBe(CONFIG)
  await edit('\npassword: ', '\ndb_password: ')
  expect(content()).toBe(CONFIG.replace('password', 'db_password'))
})

test('TO87 files about redaction can be edited, and a new file with a placeholder is written with a note', async () => {
  const { fixture, shown } = await readConfig()
  const copy = await fixture.call('Write', { file_path: 'copy.yaml', content: shown })
  expect(copy.text).toContain('It has the text [redacted: secret], which is not a value')
  const edited = { file_path: 'copy.yaml', old_string: '[redacted: secret]', new_string: '[redacted: password]' }
  expect((await fixture.call('Edit', edited)).text).toContain('replaced once')
})
