//! Ingests inputs into a lake: `lake DIR INPUT...`. The smallest use of the library.

use etwas_ingest::input::InputArgs;
use etwas_ingest::{IngestOptions, run};

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let lake = arguments.next().expect("the lake's folder").into();
    let input = InputArgs { inputs: arguments.collect(), ..InputArgs::default() };
    let options = IngestOptions { lake, input, force: true, ..IngestOptions::default() };
    match run(&options, &()) {
        Ok(summary) => {
            for result in &summary.results {
                let error = result.error.as_deref().unwrap_or("");
                println!(
                    "{:?} {} {} events {error}",
                    result.status, result.path, result.outcome.events
                );
            }
        }
        Err(error) => eprintln!("{error}"),
    }
}
