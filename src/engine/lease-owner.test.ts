import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isOwnerDead, leaseOwnerId } from './lease-owner.ts'

const [host = '', pid = '', start = ''] = leaseOwnerId('n').split('|')

describe('the owner of a lease', () => {
  test('O1 it names machine, process, its start, and the engine in it', () => {
    expect(leaseOwnerId('n')).toBe([host, process.pid, start, 'n'].join('|'))
    expect(leaseOwnerId('one')).not.toBe(leaseOwnerId('two'))
  })

  test('O1 a process that lives is not dead, and of another machine nobody here can tell', () => {
    expect(isOwnerDead(leaseOwnerId('n'))).toBe(false)
    expect(isOwnerDead(`elsewhere|999999|1|n`)).toBe(false)
    expect(isOwnerDead('nonsense')).toBe(false)
    expect(isOwnerDead('')).toBe(false)
  })

  test('O1 a process that is gone is dead at once', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    expect(isOwnerDead([host, child.pid, '-', 'n'].join('|'))).toBe(true)
  })

  test.skipIf(!existsSync('/proc/self/stat'))('O1 a process id that was given to another process is dead', () => {
    expect(isOwnerDead([host, process.ppid, '1', 'n'].join('|'))).toBe(true)
    expect(isOwnerDead([host, pid, '1', 'n'].join('|'))).toBe(true)
    expect(isOwnerDead([host, pid, '-', 'n'].join('|'))).toBe(false)
  })
})
