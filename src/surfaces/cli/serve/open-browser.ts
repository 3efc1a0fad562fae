import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findHostProgram } from '../../../runtime/tool-ports.ts'

/** Long enough for a browser that starts from nothing. */
const KEEP_MS = 30_000

/**
 * Opens an address that holds a token in the browser; false if that is not possible. The arguments of a process are visible to all users of
 * the machine, so that the browser gets the path of a private file, which leads it to the address.
 */
export async function openBrowser(address: string, given?: string): Promise<boolean> {
  const found = given === undefined ? await findHostProgram(openProgram()) : { program: given, path: process.env.PATH }
  if (!found) return false
  const folder = await mkdtemp(join(tmpdir(), 'troupe-open-'))
  const file = join(folder, 'open.html')
  await chmod(folder, 0o700)
  const target = JSON.stringify(address).replaceAll('<', '\\u003c')
  await writeFile(file, `<!doctype html><title>Troupe</title><script>location.replace(${target})</script>`, {
    mode: 0o600,
  })
  const remove = () => void rm(folder, { recursive: true, force: true }).catch(() => {})
  const isOpened = await start(found, pathToFileURL(file).href)
  if (isOpened) setTimeout(remove, KEEP_MS).unref()
  else remove()
  process.once('exit', remove)
  return isOpened
}

function openProgram(): string {
  if (process.platform === 'darwin') return 'open'
  return process.platform === 'win32' ? 'explorer' : 'xdg-open'
}

/** `xdg-open` ends with an error when it finds no browser, and some browsers go on as this process. */
const START_MS = 1500

function start({ program, path }: { program: string; path: string | undefined }, target: string): Promise<boolean> {
  return new Promise((resolve) => {
    const env = { ...process.env, PATH: path }
    const child = spawn(program, [target], { stdio: 'ignore', detached: true, env })
    const finish = (isOpened: boolean) => {
      clearTimeout(timer)
      resolve(isOpened)
    }
    const timer = setTimeout(() => resolve(true), START_MS)
    child.once('error', () => finish(false))
    child.once('exit', (code) => finish(code === 0))
    child.unref()
  })
}
