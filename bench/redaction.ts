import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findPersonalData } from '../src/judgement/redaction/personal-data.ts'
import { findSecrets } from '../src/judgement/redaction/redaction.ts'
import { plantedSecrets } from '../test/support/planted-secrets.ts'

/*
 * npm run bench:redaction [-- --files N] [--list] [FOLDER …]: planted secrets that are redacted, and alarms on ordinary source files (default: src, docs
 * and the installed packages). E-mail addresses of authors are personal data, not false alarms: they are counted apart.
 */

const SOURCE_FILE = /\.(?:[cm]?[jt]sx?|py|go|rs|java|rb|php|c|h|css|json|ya?ml|md|sh)$/
const MAX_BYTES = 200_000

function sourceFiles(folder: string, depth = 0): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return depth < 8 && entry.name !== '.git' ? sourceFiles(path, depth + 1) : []
    return entry.isFile() && SOURCE_FILE.test(entry.name) && statSync(path).size < MAX_BYTES ? [path] : []
  })
}

/** The same sample on every machine that has the same files. */
function sample(paths: readonly string[], count: number): string[] {
  let state = 20261116
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state
  }
  return paths
    .map((path) => ({ path, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ path }) => path)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { files: { type: 'string', default: '3000' }, list: { type: 'boolean', default: false } },
})
const redacted = plantedSecrets.filter(({ text }) => findSecrets(text).length > 0)
console.log(`planted secrets: ${redacted.length} of ${plantedSecrets.length} found`)

const folders = positionals.length > 0 ? positionals : ['src', 'docs', 'node_modules/']
const paths = sample(
  folders.flatMap((folder) => sourceFiles(folder)),
  Number(values.files),
)
let [withAlarm, withEmail, bytes, milliseconds] = [0, 0, 0, 0]
for (const path of paths) {
  const text = readFileSync(path, 'utf8')
  const start = performance.now()
  const found = [...findSecrets(text), ...findPersonalData(text)]
  milliseconds += performance.now() - start
  bytes += text.length
  const alarms = found.filter((each) => each.text !== '[redacted: email]')
  if (found.length > alarms.length) withEmail++
  if (alarms.length === 0) continue
  withAlarm++
  const [{ start: from = 0, end = 0, text: kind = '' } = {}] = alarms
  if (values.list)
    console.log(`${path}:${text.slice(0, from).split('\n').length}: ${kind} ${text.slice(from, end).slice(0, 60)}`)
}
const share = (count: number) =>
  `${count} of ${paths.length} (${((100 * count) / Math.max(1, paths.length)).toFixed(2)} %)`
console.log(`files with an alarm other than an e-mail address: ${share(withAlarm)}; --list prints them`)
console.log(`files with an e-mail address of a person: ${share(withEmail)}`)
console.log(`${(bytes / 1e6).toFixed(1)} MB in ${Math.round(milliseconds)} ms`)
