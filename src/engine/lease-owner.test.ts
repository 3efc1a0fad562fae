import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isOwnerDead, leaseOwnerId } from './lease-owner.ts'

const [host = '', pid = '', start = '', scope = ''] = leaseOwnerId('n').split('|')

describe('the owner of a lease', () => {
  test('O1 the owner id names the host, the process, its start time, its boot and PID namespace, and the engine', () => {
    expect(leaseOwnerId('n')).toBe([host, process.pid, start, scope, 'n'].join('|'))
    expect(leaseOwnerId('one')).not.toBe(leaseOwnerId('two'))
  })

  test('O1 a live process is not dead', () => {
    expect(isOwnerDead(leaseOwnerId('n'))).toBe(false)
    expect(isOwnerDead('nonsense')).toBe(false)
    expect(isOwnerDead('')).toBe(false)
  })

  test('O1 a process that has exited is dead at once', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    expect(isOwnerDead([host, child.pid, '-', scope, 'n'].join('|'))).toBe(true)
  })

  test('O2 a process of another machine, boot or PID namespace is never considered dead', () => {
    for (const owner of [
      `other-host|999999|1|other-scope|n`,
      `${host}|999999|1|other-scope|n`,
      `${host}|999999|1||n`,
    ]) {
      expect(isOwnerDead(owner)).toBe(false)
    }
    expect(isOwnerDead(`${host}|999999|1|${scope}|n`)).toBe(true)
  })

  test.skipIf(!existsSync('/proc/self/stat'))('O1 a zombie is dead', async () => {
    // The shell starts a child that exits soon, and is replaced by a program that never waits for it.
    const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'])
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer]
    const zombie = Number(chunk.toString())
    await expect.poll(() => readFileSync(`/proc/${zombie}/stat`, 'utf8')).toContain(') Z')
    expect(isOwnerDead([host, zombie, '-', scope, 'n'].join('|'))).toBe(true)
    parent.kill('SIGKILL')
  })

  test.skipIf(!existsSync('/proc/self/stat'))('O1 a reused process id with another start time is dead', () => {
    expect(isOwnerDead([host, process.ppid, '1', scope, 'n'].join('|'))).toBe(true)
    expect(isOwnerDead([host, pid, '1', scope, 'n'].join('|'))).toBe(true)
    expect(isOwnerDead([host, pid, '-', scope, 'n'].join('|'))).toBe(false)
  })
})
