import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isDead, thisOwner } from './owner.ts'

const [host = '', pid = '', start = ''] = thisOwner('n').split('|')

describe('the owner of a lease', () => {
  test('O1 it names machine, process, its start, and the engine in it', () => {
    expect(thisOwner('n')).toBe([host, process.pid, start, 'n'].join('|'))
    expect(thisOwner('one')).not.toBe(thisOwner('two'))
  })

  test('O1 a process that lives is not dead, and of another machine nobody here can tell', () => {
    expect(isDead(thisOwner('n'))).toBe(false)
    expect(isDead(`elsewhere|999999|1|n`)).toBe(false)
    expect(isDead('nonsense')).toBe(false)
    expect(isDead('')).toBe(false)
  })

  test('O1 a process that is gone is dead at once', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    expect(isDead([host, child.pid, '-', 'n'].join('|'))).toBe(true)
  })

  test.skipIf(!existsSync('/proc/self/stat'))('O1 a process id that was given to another process is dead', () => {
    expect(isDead([host, process.ppid, '1', 'n'].join('|'))).toBe(true)
    expect(isDead([host, pid, '1', 'n'].join('|'))).toBe(true)
    expect(isDead([host, pid, '-', 'n'].join('|'))).toBe(false)
  })
})
