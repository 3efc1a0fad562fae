import fc from 'fast-check'

/*
 * Property tests take the same cases every time, so that a change is judged by what it changes. FC_SEED tries others; a
 * failure prints the seed that replays it.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.FC_SEED ?? 20261115) })
