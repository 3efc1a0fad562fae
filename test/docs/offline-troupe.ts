// Loaded before a documented program: resolves `troupe` to the source of this clone and blocks connections to other machines.
import { registerHooks } from 'node:module'
import { Socket } from 'node:net'

const sources: Readonly<Record<string, string>> = {
  troupe: new URL('../../src/index.ts', import.meta.url).href,
  'troupe/patterns': new URL('../../src/entries/patterns.ts', import.meta.url).href,
  'troupe/models': new URL('../../src/entries/models.ts', import.meta.url).href,
  'troupe/inspect': new URL('../../src/entries/inspect.ts', import.meta.url).href,
  'troupe/server': new URL('../../src/surfaces/http/index.ts', import.meta.url).href,
  'troupe/testing': new URL('../../src/testing/index.ts', import.meta.url).href,
}

registerHooks({
  resolve: (specifier, context, next) => next(sources[specifier] ?? specifier, context),
})

const { connect } = Socket.prototype
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  if (!JSON.stringify(args).includes('"host":"127.0.0.1"')) {
    throw new Error('documented programs must run offline, but this one opened a connection')
  }
  return Reflect.apply(connect, this, args)
}
