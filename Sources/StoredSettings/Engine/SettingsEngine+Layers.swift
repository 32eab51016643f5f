// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Layers.md, "Files of layers are watched like the store".

import Synchronization

extension SettingsEngine {
    /// The files of some layers, which all suites with the same layers share.
    func layerFiles(of sources: [LayerSource]) -> LayerFiles {
        layerFiles.withLock { all in
            if let known = all.first(where: { $0.sources == sources }) { return known }
            let new = LayerFiles(sources, engine: self)
            all.append(new)
            return new
        }
    }

    /// Starts to watch the files of all layers, for a subscriber.
    func watchLayers() {
        for files in layerFiles.withLock(\.self) { files.watch() }
    }

    /// Makes the next reads use changed layers.
    ///
    /// - Parameter keys: The keys whose values in the layers have changed.
    func layersChanged(ofKeys keys: Set<String>) {
        if hasRequirements.load(ordering: .acquiring) { state.withLock { $0.held.noteLayerChange(ofKeys: keys) } }
        invalidate()
    }

    /// Notifies the subscribers of some keys of a change of layers, after the requirements on them were checked.
    ///
    /// The caller holds no lock, because reading the store can report errors. Changes of layers contain no values of them:
    /// each subscriber reads the newest one. So the order of several calls does not matter.
    ///
    /// - Parameter keys: The keys whose values in the layers have changed.
    func deliverLayerChanges(ofKeys keys: Set<String>) {
        guard !keys.isEmpty else { return }
        checkIfDue()
        var delivery = StoreDelivery.none
        for key in keys.sorted() {
            let part = withValue(forKey: key) { value, state in
                guard state.subscribers.concerns(key) else { return StoreDelivery.none }
                let change = StoreChange(key: key, old: value, new: value)
                var commit = StoreCommit(changes: [change], origin: .external)
                commit.isLayered = true
                return state.subscribers.offer(commit)
            }
            delivery.subscribers += part.subscribers
        }
        delivery.origin = .external
        delivery.perform()
    }
}
