import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findCommandGrants } from '../../src/judgement/permission/command-allow-rule.ts'
import { matchDeniedCommand } from '../../src/judgement/permission/command-deny-rule.ts'
import { parseShellLine } from '../../src/judgement/permission/shell-parser.ts'
import { recordAttempts } from '../support/attempt-count.ts'
import { randomShellLine, randomShellText } from '../support/random-shell-line.ts'
import { hostileShellLines } from './shell-lines.attempts.ts'

/*
 * Permission rules rest on which programs a shell line starts. Real bash says which: without a PATH, it hands each program it
 * does not find, with its arguments, to `command_not_found_handle`.
 */

const LINES = Number(process.env.TROUPE_STRESS === undefined ? 120 : 20_000)
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-bash-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let lineCount = 0

/** The programs that bash starts for a line, with their arguments. */
function startedPrograms(line: string): Promise<{ started: string[][]; isValid: boolean }> {
  const log = join(folder, `log-${++lineCount}`)
  const env = {
    PATH: '/nonexistent',
    HOME: '/h',
    LANG: 'C.UTF-8',
    LOG: log,
    'BASH_FUNC_command_not_found_handle%%': `() { printf '%s\\0' "$#" "$@" >> "$LOG"; }`,
  }
  return new Promise((resolve, reject) => {
    const args = ['-s', 'KILL', '5', '/bin/bash', '--norc', '--noprofile', '-c', line]
    const child = spawn('/usr/bin/timeout', args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', () => {
      const isValid = !/syntax error|unexpected EOF|bad substitution/.test(errors)
      resolve({ started: readLog(log), isValid })
    })
  })
}

function readLog(log: string): string[][] {
  let fields: string[]
  try {
    fields = readFileSync(log, 'utf8').split('\0')
  } catch {
    return []
  }
  const started: string[][] = []
  for (let index = 0; index < fields.length - 1; ) {
    const count = Number(fields[index])
    started.push(fields.slice(index + 1, index + 1 + count))
    index += count + 1
  }
  return started
}

test('PM47 a deny rule sees every program that bash starts for a hostile line', async (context) => {
  const { length } = hostileShellLines
  expect(new Set(hostileShellLines).size).toBe(length)
  recordAttempts(context, 'permissions', { attempts: length, controls: length })
  const queue = hostileShellLines.values()
  const worker = async () => {
    for (const line of queue) {
      const { started } = await startedPrograms(line)
      // The control: without the rule the program would run.
      expect.soft(started.flat(), line).toContain('r')
      expect.soft(matchDeniedCommand('r:*', line), line).not.toBe('no')
      expect.soft(findCommandGrants(['q:*', ':', 'echo:*', 'p:*'], line).allowedBy, line).toBeUndefined()
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
})

test('PM47 for random lines the reader lists what bash starts, or says that it cannot tell', {
  timeout: 600_000,
}, async () => {
  const lines = fc.sample(fc.oneof({ weight: 2, arbitrary: randomShellLine }, randomShellText), LINES)
  const queue = lines.values()
  const counts = { lines: lines.length, valid: 0, fullyParsed: 0 }
  const worker = async () => {
    for (const line of queue) {
      const { started, isValid } = await startedPrograms(line)
      const programs = started.map(([program]) => program)
      const { commands, fullyParsed, unsupportedSyntax } = parseShellLine(line)
      if (isValid) counts.valid++
      if (isValid && fullyParsed) counts.fullyParsed++
      if (programs.includes('r')) expect.soft(matchDeniedCommand('r:*', line), line).not.toBe('no')
      if (findCommandGrants(['p:*'], line).allowedBy)
        expect.soft(new Set([...programs, 'p']), line).toEqual(new Set(['p']))
      const words = commands.map((command) => command.words)
      if (unsupportedSyntax !== undefined || !words.flat().every(({ opaque }) => !opaque)) continue
      const texts = words.map((command) => command.map(({ text }) => text).join('\0'))
      for (const program of started) {
        if (program[0] !== 'time' && !/eval|trap|command/.test(line))
          expect
            .soft(
              texts.some((text) => text.endsWith(program.join('\0'))),
              `${line}: ${program}`,
            )
            .toBe(true)
      }
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  console.log(
    `random shell lines: ${counts.lines}, valid for bash ${counts.valid}, of these fully parsed ${counts.fullyParsed}`,
  )
  expect(counts.fullyParsed).toBeGreaterThan(counts.valid * 0.9)
})
