import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { killSandbox, signalProcessGroup } from './kill-process.ts'

test('SB29 processes that left the process group are killed too', async () => {
  const script = 'setsid sh -c "echo \\$\\$; setsid sleep 98; true" & wait'
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
  const pid = Number(String(chunk))
  expect(existsSync(`/proc/${pid}`)).toBe(true)
  killSandbox(child)
  // `close` means that no process holds the output pipe open.
  await once(child, 'close')
  expect(child.signalCode).toBe('SIGKILL')
})

test('SB29 where there are no process groups, the process itself is signalled', async () => {
  const child = spawn('sleep', ['98'], { stdio: 'ignore' })
  const platform = process.platform
  Object.defineProperty(process, 'platform', { value: 'win32' })
  try {
    // Not the leader of a group: only its own pid reaches it.
    signalProcessGroup(child.pid, 'SIGTERM')
  } finally {
    Object.defineProperty(process, 'platform', { value: platform })
  }
  expect((await once(child, 'exit'))[1]).toBe('SIGTERM')
})

test('SB29 a pid is not signalled after the exit of its process (pid reuse)', async () => {
  const child = spawn('true', { stdio: 'ignore' })
  await once(child, 'exit')
  const bystander = spawn('sleep', ['98'], { stdio: 'ignore' })
  killSandbox(Object.assign(Object.create(child), { pid: bystander.pid, exitCode: 0 }))
  expect(bystander.signalCode).toBe(null)
  bystander.kill('SIGTERM')
  expect((await once(bystander, 'exit'))[1]).toBe('SIGTERM')
})
