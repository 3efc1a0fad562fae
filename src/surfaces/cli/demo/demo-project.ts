import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findHostProgram } from '../../../runtime/tool-ports.ts'

/* The project that the agents of the live demo work on. */

const FILES: Readonly<Record<string, string>> = {
  'package.json': '{\n  "name": "portal",\n  "type": "module"\n}\n',
  'docs/importer.md': '# Import rows\n',
  'src/auth.ts': 'export const sessions = new Map<string, string>()\n',
  'src/importer.ts': "export const options = ['--file']\n",
  'src/mailer.ts': 'export async function send(to: string, text: string): Promise<void> {}\n',
  'src/routes.ts': "export const routes = ['/login', '/logout']\n",
}

const IDENTITY = ['-c', 'user.name=Demo', '-c', 'user.email=demo@example.com', '-c', 'commit.gpgSign=false']

/** Writes the project. `hasGit` is `false` where git is missing. */
export async function writeDemoProject(folder: string): Promise<{ hasGit: boolean }> {
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const found = await findHostProgram('git')
  if (!found) return { hasGit: false }
  const env = { ...process.env, PATH: found.path }
  const git = (...args: string[]) =>
    promisify(execFile)(found.program, ['-C', folder, '-c', 'core.hooksPath=', ...args], { env })
  try {
    await git('init', '--quiet', '--initial-branch=main')
    await git('add', '--all')
    await git(...IDENTITY, 'commit', '--quiet', '--message=Begin')
    return { hasGit: true }
  } catch {
    return { hasGit: false }
  }
}
