import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MODULES = join(ROOT, 'node_modules')

/** An otherwise empty project with the package as it is published, and what runs there in processes of their own. */
export interface InstalledPackage {
  folder: string
  /** A file of the package. */
  file(path: string): string
  env: NodeJS.ProcessEnv
  /** Writes and runs a program that prints one line of JSON. */
  program<T>(code: string): Promise<T>
  troupe(...argv: string[]): Promise<string>
}

/** Builds, packs and unpacks the package. Its dependencies are links to those of the checkout: no registry is needed. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-package-'))
  const own = join(folder, 'node_modules', 'troupe')
  await mkdir(own, { recursive: true })
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT })
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? ''
  await run('tar', ['xzf', join(folder, tarball), '--strip-components=1', '-C', own])
  const { dependencies } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(MODULES, name), link)
  }
  const home = join(folder, 'home')
  await mkdir(home)
  const env = { PATH: process.env.PATH, HOME: home }
  const node = async (...args: string[]) => (await run(process.execPath, args, { cwd: folder, env })).stdout
  const file = (path: string) => join(own, path)
  let programs = 0
  return {
    ...{ folder, file, env },
    async program(code) {
      const path = join(folder, `program-${++programs}.mjs`)
      await writeFile(path, code)
      return JSON.parse(await node(path))
    },
    troupe: (...argv) => node(file('dist/surfaces/cli/main.js'), ...argv),
  }
}
