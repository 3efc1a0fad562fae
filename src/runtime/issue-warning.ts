import { stripControlCharacters } from '../views/text-width.ts'

/** Emits a warning of the process. Node prints it as it is: text of agent files and servers must not control the terminal. */
export function issueWarning(message: string): void {
  process.emitWarning(stripControlCharacters(message))
}
