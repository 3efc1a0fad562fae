import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realWorld } from './real-world.ts'
import { openRequestMarks } from './request-marks.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'troupe-marks-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const OLD = new Date('2020-01-01')

function writeOldFile(path: string): void {
  writeFileSync(path, 'old')
  utimesSync(path, OLD, OLD)
}

function sendRequest(folder: string): () => void {
  const marks = openRequestMarks({ folder, owner: 'host|1|1|scope|nonce', world: realWorld() })
  const mark = marks.open('run', 1)
  mark.write({ sent_at: 1, received_chars: 0 })
  mark.close(() => true)
  return () => marks.close()
}

test('a folder of marks that is a link, as a repository may contain, is not used: old files behind it stay', () => {
  const target = join(root, 'documents')
  mkdirSync(target)
  writeOldFile(join(target, 'letter.txt'))
  writeOldFile(join(target, '0123456789abcdef'))
  const folder = join(root, 'troupe.db-requests')
  symlinkSync(target, folder)
  sendRequest(folder)()
  expect(readdirSync(target).sort()).toEqual(['0123456789abcdef', 'letter.txt'])
})

test('old marks are removed, other files are not', () => {
  const folder = join(root, 'troupe.db-requests')
  mkdirSync(folder)
  writeOldFile(join(folder, 'letter.txt'))
  writeOldFile(join(folder, '0123456789abcdef'))
  const close = sendRequest(folder)
  expect(readdirSync(folder)).toHaveLength(2)
  expect(existsSync(join(folder, '0123456789abcdef'))).toBe(false)
  close()
  expect(readdirSync(folder)).toEqual(['letter.txt'])
})

test('a file in place of the folder leaves a process without marks', () => {
  const folder = join(root, 'troupe.db-requests')
  writeOldFile(folder)
  sendRequest(folder)()
  expect(existsSync(folder)).toBe(true)
})
