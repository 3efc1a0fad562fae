import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { killSandbox } from './kill-process.ts'

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

test('SB29 a pid is not signalled after the exit of its process (pid reuse)', async () => {
  const child = spawn('true', { stdio: 'ignore' })
  await once(child, 'exit')
  const bystander = spawn('sleep', ['98'], { stdio: 'ignore' })
  killSandbox(Object.assign(Object.create(child), { pid: bystander.pid, exitCode: 0 }))
  expect(bystander.signalCode).toBe(null)
  bystander.kill('SIGTERM')
  expect((await once(bystander, 'exit'))[1]).toBe('SIGTERM')
})
