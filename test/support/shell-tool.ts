import { z } from 'zod'
import { defineTool } from '../../src/index.ts'

/** A tool named `Bash` that executes nothing: `commands` lists what it was called with. */
export function createShellTool() {
  const commands: string[] = []
  const shell = defineTool({
    name: 'Bash',
    description: 'runs a command',
    kind: 'act',
    category: 'action',
    input: z.object({ command: z.string() }),
    subject: ({ command }) => command,
    execute({ command }) {
      commands.push(command)
      return { success: true, output: `ran ${command}` }
    },
  })
  return { shell, commands }
}
