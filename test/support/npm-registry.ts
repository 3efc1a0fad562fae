import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { openWorkspace } from '../../src/tools/files/workspace.ts'
import { openSandbox } from '../../src/tools/sandbox/open-sandbox.ts'
import { temporaryFolder } from './mcp-test-server.ts'

/** The test server. */
export const SERVER = fileURLToPath(new URL('../fixtures/mcp/test-server.mjs', import.meta.url))

/** Reached through the proxy: 127.0.0.1 is exempt from proxies, and the sandbox has a loopback of its own. */
const LOOPBACK = '127.0.0.2'

/** A registry with the package `tiny-server`, whose install script writes down what it can see. */
export async function startRegistry() {
  const folder = temporaryFolder()
  const manifest = {
    name: 'tiny-server',
    version: '1.0.0',
    bin: './server.mjs',
    scripts: { install: 'ls / /tmp > seen.txt; env > env.txt' },
  }
  mkdirSync(join(folder, 'package'))
  writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify(manifest))
  copyFileSync(SERVER, join(folder, 'package', 'server.mjs'))
  const script = readFileSync(SERVER, 'utf8')
  writeFileSync(join(folder, 'package', 'server.mjs'), `#!/usr/bin/env node\n${script}`, { mode: 0o755 })
  execFileSync('tar', ['czf', 'tiny.tgz', 'package'], { cwd: folder })
  const requests: string[] = []
  const server = createServer(({ url = '', headers }, response) => {
    requests.push(url)
    const dist = { tarball: `http://${headers.host}/tiny-server/-/tiny.tgz` }
    const packument = {
      name: 'tiny-server',
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { ...manifest, hasInstallScript: true, dist } },
    }
    if (url.endsWith('.tgz')) response.end(readFileSync(join(folder, 'tiny.tgz')))
    else if (url === '/tiny-server') response.end(JSON.stringify(packument))
    else response.writeHead(404).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { requests, host: `${LOOPBACK}:${port}` }
}

export function openTestSandbox(root = temporaryFolder()) {
  const workspace = openWorkspace(root)
  const sandbox = openSandbox({ workspace, sandbox: {}, hosts: [] })
  onTestFinished(() => sandbox.close())
  return { root, workspace, sandbox }
}
