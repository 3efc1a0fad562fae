import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isOwnerDead, leaseOwnerId } from './lease-owner.ts'

const [host = '', pid = '', start = ''] = leaseOwnerId('n').split('|')

describe('the owner of a lease', () => {
  test('O1 the owner id names the machine, the process, its start time and the engine', () => {
    expect(leaseOwnerId('n')).toBe([host, process.pid, start, 'n'].join('|'))
    expect(leaseOwnerId('one')).not.toBe(leaseOwnerId('two'))
  })

  test('O1 a live process is not dead, and a process on another machine is never considered dead', () => {
    expect(isOwnerDead(leaseOwnerId('n'))).toBe(false)
    expect(isOwnerDead(`other-host|999999|1|n`)).toBe(false)
    expect(isOwnerDead('nonsense')).toBe(false)
    expect(isOwnerDead('')).toBe(false)
  })

  test('O1 a process that has exited is dead at once', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    expect(isOwnerDead([host, child.pid, '-', 'n'].join('|'))).toBe(true)
  })

  test.skipIf(!existsSync('/proc/self/stat'))('O1 a reused process id with another start time is dead', () => {
    expect(isOwnerDead([host, process.ppid, '1', 'n'].join('|'))).toBe(true)
    expect(isOwnerDead([host, pid, '1', 'n'].join('|'))).toBe(true)
    expect(isOwnerDead([host, pid, '-', 'n'].join('|'))).toBe(false)
  })
})
