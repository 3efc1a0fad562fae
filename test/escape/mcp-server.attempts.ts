import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSandboxedServer } from '../../src/tools/sandbox/open-sandbox.ts'
import type { SpawnRequest } from '../../src/tools/sandbox/sandbox.ts'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'
import type { ToolCallOutcome } from './tool-workspace.ts'

/** Starts a program as an agent's server is started: its words, variables and folder are those of the agent's file. */
async function startServer({ toolbox }: HostFixture, request: SpawnRequest): Promise<ToolCallOutcome> {
  const work = await spawnSandboxedServer(toolbox.sandbox, request)
  let text = ''
  for (const stream of [work.child.stdout, work.child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
    })
  }
  work.child.stdin?.end()
  const { code } = await work.ended
  return { success: code === 0, text }
}

const serverAttempt = (
  title: string,
  request: (scene: HostFixture) => SpawnRequest,
  more: Partial<Attempt> = {},
): Attempt => ({
  title,
  run: { call: (scene: HostFixture) => startServer(scene, request(scene)) },
  ...more,
})

/** Every program that is on the way to the server, and the server's own. */
const NAMES = ['bwrap', 'sh', 'bash', 'env', 'mkdir', 'which', 'rg', 'socat', 'node']

const writePrograms = ({ workspace, writeFile, marker }: HostFixture) => {
  for (const name of NAMES) {
    writeFile(`tools/${name}`, `#!/bin/sh\necho ${name} >> ${marker}\n`)
    chmodSync(join(workspace, 'tools', name), 0o755)
  }
}

export const mcpServerAttempts: readonly Attempt[] = [
  serverAttempt(
    'programs of the workspace by way of PATH',
    ({ workspace }) => ({ command: ['node', '-e', '0'], env: { PATH: `${workspace}/tools:/usr/bin:/bin` } }),
    { prepare: writePrograms },
  ),
  serverAttempt(
    'programs of the workspace by way of a PATH from where it is started',
    () => ({ command: ['node', '-e', '0'], env: { PATH: 'tools:/usr/bin:/bin' } }),
    { prepare: writePrograms },
  ),
  serverAttempt(
    'the loader of programs',
    ({ marker }) => ({ command: ['/bin/true'], env: { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: marker } }),
    // It adds the number of the process to the name.
    { escaped: ({ outside }) => readdirSync(outside).some((name) => name.startsWith('marker')) },
  ),
  serverAttempt(
    'what a shell reads before its command',
    ({ workspace }) => ({
      command: ['/bin/true'],
      env: { BASH_ENV: `${workspace}/before.sh`, ENV: `${workspace}/before.sh` },
    }),
    { prepare: ({ workspace, marker }) => writeFileSync(join(workspace, 'before.sh'), `echo x > ${marker}\n`) },
  ),
  serverAttempt('a folder above the workspace to begin in', () => ({ command: 'echo x > marker', cwd: '../outside' })),
  serverAttempt('a secret as an argument to a shell', ({ outside }) => ({
    command: ['sh', '-c', 'cat "$0"', `${outside}/secret.txt`],
  })),
  serverAttempt(
    'agents of its own',
    () => ({ command: 'mkdir -p .claude/agents; echo evil > .claude/agents/evil.md' }),
    {
      escaped: ({ workspace }) => existsSync(join(workspace, '.claude/agents/evil.md')),
    },
  ),
]
