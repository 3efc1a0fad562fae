import type { Command } from 'commander'
import type { Cli } from './cli.ts'
import type { DemoOptions } from './commands/demo-command.ts'
import { addExecutionOptions, addRunOptions, collectValues } from './program-options.ts'
import type { AddCommand } from './program-team.ts'

/** The command `serve`. */
export function addServeCommand(program: Command, add: AddCommand): void {
  const serve = add(program, 'serve', async (cli) => (await import('./commands/serve-command.ts')).serveCommand(cli))
  serve
    .description('serve the page and the HTTP API, and execute runs')
    .option('--port <number>', 'port (default: 4747, or another if it is in use)')
    .option('--open', 'open the page in the browser')
    .option('--no-execute', 'only show runs and store answers; other processes execute them')
    .option('--token-scopes <list>', 'what the token may do: read,run,approve (default: all)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1); others need TLS or --behind-proxy')
    .option(
      '--public-host <name>',
      'name that clients use for this server, such as troupe.example.com; repeatable',
      collectValues,
    )
    .option('--tls-cert <file>', 'certificate in PEM format')
    .option('--tls-key <file>', 'key of the certificate in PEM format')
    .option('--behind-proxy', 'a proxy in front of it does the encryption')
    .option('--socket <path>', 'listen on a Unix socket that only you can use, instead of a port')
  addExecutionOptions(addRunOptions(serve.optionsGroup('Runs:')))
}

/** The command `demo`: in the terminal, or with the page. */
export function addDemoCommand(program: Command, add: AddCommand): void {
  const demo = async (cli: Cli<DemoOptions>) => (await import('./commands/demo-command.ts')).demoCommand(cli)
  add(program, 'demo', demo)
    .description('run a short scripted demo, offline')
    .option('--open', 'serve the page with runs at work, and open it in the browser')
    .option('--serve', 'serve the page with runs at work')
    .option('--port <number>', 'port of the page (default: 4747, or another if it is in use)')
}
